// SPDX-License-Identifier: Apache-2.0
import Diagnosis

/// The authorizer's part in one request: what the user may not do is answered in the broker's stead, or taken out of the
/// request and out of the broker's answer.
///
/// `ApiVersions` is answered so that clients use the versions that are read here.
struct Authorization {
  /// The newest version of each request that is read here; 32 (`DescribeConfigs`) the embedded broker does not know.
  private static let versions: [Int16: Int16] = [
    0: 7, 1: 11, 2: 5, 3: 2, 8: 7, 9: 5, 10: 2, 11: 5, 12: 3, 13: 1, 14: 3, 18: 2, 22: 1, 32: 1,
  ]
  private static let topicRefused: Int16 = 29
  private static let topicUnknown: Int16 = 3
  private static let groupRefused: Int16 = 30
  private static let clusterRefused: Int16 = 31

  let user: AuthorizedUser
  /// The port at which clients find the broker.
  let port: UInt16

  /// - Parameter forward: has the broker answer; nil when the connection ended.
  func answer(to request: [UInt8], forward: ([UInt8]) -> [UInt8]?) -> [UInt8]? {
    var reader = FieldReader(request)
    let (key, version) = (reader.int16(), reader.int16())
    var answer = FieldWriter()
    answer.int32(reader.int32())
    _ = reader.string()
    switch key {
    case 0: return produce(request, reader, answer) ?? forward(request)
    case 1: return forward(request).map(fetched)
    case 3: return forward(request).map { listed($0, asked: reader) }
    case 8: return commit(request, reader, answer, forward)
    case 18: return forward(request).map { version > 2 ? $0 : supported($0) }
    case 22:
      if user.mayWrite { return forward(request) }
      answer.raw([0, 0, 0, 0])
      answer.int16(Self.clusterRefused)
      answer.int64(-1)
      answer.int16(-1)
      return answer.bytes
    case 32: return settings(reader, answer)
    case 9, 10, 11, 12, 14:
      guard let name = reader.string(), !user.may(.read, .group(name)) else {
        return forward(request).map { key == 10 ? redirected($0) : $0 }
      }
      return refusal(key, answer)
    default: return forward(request)
    }
  }

  private func mayNot(_ operation: KafkaRight.Operation, _ topic: String) -> Bool {
    !user.may(operation, .topic(topic))
  }

  // MARK: Versions, addresses

  private func supported(_ response: [UInt8]) -> [UInt8] {
    var reader = FieldReader(response)
    reader.skip(6)
    var answer = FieldWriter()
    answer.raw(reader.bytes(from: 0))
    let known = reader.array { ($0.int16(), $0.int16(), $0.int16()) }.map(\.value)
    answer.array(known + [(32, 0, 1)]) { writer, entry in
      writer.int16(entry.0)
      writer.int16(entry.1)
      writer.int16(min(entry.2, Self.versions[entry.0] ?? entry.2))
    }
    answer.raw(reader.rest)
    return answer.bytes
  }

  /// `FindCoordinator`: the broker behind the proxy.
  private func redirected(_ response: [UInt8]) -> [UInt8] {
    var answer = response
    answer.replaceSubrange((answer.count - 4)..., with: portField)
    return answer
  }

  private var portField: [UInt8] {
    var writer = FieldWriter()
    writer.int32(Int32(port))
    return writer.bytes
  }

  // MARK: Topics

  /// `Metadata`: a list leaves out what the user may not see; asked for by name, that is refused.
  private func listed(_ response: [UInt8], asked: FieldReader) -> [UInt8] {
    var asked = asked
    let names = asked.array { $0.string() ?? "" }.map(\.value)
    var reader = FieldReader(response)
    reader.skip(4)
    var answer = FieldWriter()
    answer.raw(reader.bytes(from: 0))
    let brokers = reader.array { ($0.int32(), $0.string(), $0.int32(), $0.string()) }.map(\.value)
    answer.array(brokers) { writer, broker in
      writer.int32(broker.0)
      writer.string(broker.1)
      writer.raw(portField)
      writer.string(broker.3)
    }
    answer.string(reader.string()?.replacing("mockCluster", with: "authorizing"))
    answer.int32(reader.int32())
    let topics = reader.array { reader -> String in
      reader.skip(2)
      let name = reader.string() ?? ""
      reader.skip(1)
      _ = reader.array { reader in
        reader.skip(10)
        _ = reader.array { $0.int32() }
        _ = reader.array { $0.int32() }
      }
      return name
    }
    let shown = topics.filter {
      names.isEmpty ? !mayNot(.describe, $0.value) : names.contains($0.value)
    }
    // The broker leaves out what does not exist.
    let others = names.filter { name in !topics.contains { $0.value == name } }
    answer.array(shown.map { ($0.value, $0.bytes) } + others.map { ($0, []) }) { writer, topic in
      let isRefused = mayNot(.describe, topic.0)
      if !isRefused, !topic.1.isEmpty { return writer.raw(topic.1) }
      writer.int16(isRefused ? Self.topicRefused : Self.topicUnknown)
      writer.string(topic.0)
      writer.raw([0])
      writer.int32(0)
    }
    return answer.bytes
  }

  /// nil if everything may be written.
  private func produce(
    _ request: [UInt8], _ reader: FieldReader, _ answer: FieldWriter
  ) -> [UInt8]? {
    var reader = reader
    var answer = answer
    _ = reader.string()
    reader.skip(6)
    let topics = reader.array { reader in
      let name = reader.string() ?? ""
      let partitions = reader.array { reader -> Int32 in
        defer { reader.skipBytes() }
        return reader.int32()
      }
      return (name, partitions.map(\.value))
    }.map(\.value)
    // librdkafka's requests have one partition each.
    guard topics.contains(where: { mayNot(.write, $0.0) }) else { return nil }
    answer.array(topics) { writer, topic in
      writer.string(topic.0)
      writer.array(topic.1) { writer, partition in
        writer.int32(partition)
        writer.int16(Self.topicRefused)
        for _ in 0..<3 { writer.int64(-1) }
      }
    }
    answer.int32(0)
    return answer.bytes
  }

  private func fetched(_ response: [UInt8]) -> [UInt8] {
    var reader = FieldReader(response)
    reader.skip(14)
    var answer = FieldWriter()
    answer.raw(reader.bytes(from: 0))
    let topics = reader.array { reader in
      let name = reader.string() ?? ""
      let partitions = reader.array { reader -> Int32 in
        let partition = reader.int32()
        reader.skip(26)
        _ = reader.array { $0.skip(16) }
        reader.skip(4)
        reader.skipBytes()
        return partition
      }
      return (name, partitions.map(\.value))
    }
    answer.array(topics) { writer, topic in
      guard mayNot(.read, topic.value.0) else { return writer.raw(topic.bytes) }
      writer.string(topic.value.0)
      writer.array(topic.value.1) { writer, partition in
        writer.int32(partition)
        writer.int16(Self.topicRefused)
        for _ in 0..<3 { writer.int64(-1) }
        // No aborted transactions, no preferred replica, no records.
        for field: Int32 in [-1, -1, 0] { writer.int32(field) }
      }
    }
    return answer.bytes
  }

  private func settings(_ reader: FieldReader, _ answer: FieldWriter) -> [UInt8] {
    var reader = reader
    var answer = answer
    let names = reader.array { reader -> String in
      reader.skip(1)
      defer { _ = reader.array { $0.string() } }
      return reader.string() ?? ""
    }.map(\.value)
    answer.int32(0)
    answer.array(names) { writer, name in
      writer.int16(Self.topicRefused)
      writer.string(nil)
      writer.raw([2])
      writer.string(name)
      writer.int32(0)
    }
    return answer.bytes
  }

  // MARK: Groups

  private func refusal(_ key: Int16, _ answer: FieldWriter) -> [UInt8] {
    var answer = answer
    answer.int32(0)
    if key == 9 { answer.int32(0) }
    answer.int16(Self.groupRefused)
    switch key {
    case 10:
      answer.string(nil)
      answer.int32(-1)
      answer.string("")
      answer.int32(-1)
    case 11:
      answer.int32(-1)
      for _ in 0..<3 { answer.string("") }
      answer.int32(0)
    case 14: answer.int32(0)
    default: break
    }
    return answer.bytes
  }

  private func commit(
    _ request: [UInt8], _ reader: FieldReader, _ answer: FieldWriter,
    _ forward: ([UInt8]) -> [UInt8]?
  ) -> [UInt8]? {
    var reader = reader
    var answer = answer
    let isGroupAllowed = user.may(.read, .group(reader.string() ?? ""))
    reader.skip(4)
    for _ in 0..<2 { _ = reader.string() }
    var allowed = FieldWriter()
    allowed.raw(reader.bytes(from: 0))
    let topics = reader.array { reader in
      let name = reader.string() ?? ""
      let partitions = reader.array { reader -> Int32 in
        let partition = reader.int32()
        reader.skip(12)
        _ = reader.string()
        return partition
      }
      return (name, partitions.map(\.value))
    }
    let refused = topics.filter { !isGroupAllowed || mayNot(.read, $0.value.0) }
    if refused.isEmpty { return forward(request) }
    let kept = topics.filter { isGroupAllowed && !mayNot(.read, $0.value.0) }
    answer.int32(0)
    answer.int32(Int32(topics.count))
    if !kept.isEmpty {
      allowed.array(kept) { $0.raw($1.bytes) }
      guard let response = forward(allowed.bytes) else { return nil }
      // Behind correlation, throttle time and count.
      answer.raw(response.dropFirst(12))
    }
    for topic in refused {
      answer.string(topic.value.0)
      answer.array(topic.value.1) { writer, partition in
        writer.int32(partition)
        writer.int16(isGroupAllowed ? Self.topicRefused : Self.groupRefused)
      }
    }
    return answer.bytes
  }
}
