// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import BrokerCore

/// Every request and every answer, in every version.
@Suite struct ProtocolTableTests {
  /// A value with something in every field of a version: what the version does not have has its default.
  private func sample(_ schema: [FieldSchema], _ version: Int16, _ seed: inout Int64) -> Value {
    var fields: [Value.Field] = []
    for field in schema {
      guard field.versions.contains(version) else {
        fields.append(.init(name: field.name, value: field.standard))
        continue
      }
      fields.append(.init(name: field.name, value: sample(field.kind, version, &seed)))
    }
    return .fields(fields)
  }

  private func sample(_ kind: FieldSchema.Kind, _ version: Int16, _ seed: inout Int64) -> Value {
    seed += 1
    switch kind {
    case .int: return .int(seed % 100 - 50)
    case .text: return .text("text \(seed)")
    case .bytes, .records: return .bytes(Array("bytes \(seed)".utf8)[...])
    case .uuid: return .bytes([UInt8](repeating: UInt8(truncatingIfNeeded: seed), count: 16)[...])
    case .list(let element): return .list((0..<2).map { _ in sample(element, version, &seed) })
    case .fields(let schema): return sample(schema, version, &seed)
    }
  }

  /// Bytes of slices begin anywhere: compared by content.
  private func plain(_ value: Value) -> String {
    switch value {
    case .fields(let fields): "{" + fields.map { "\($0.name):\(plain($0.value))" }.joined() + "}"
    case .list(let list): "[" + list.map(plain).joined(separator: ",") + "]"
    case .bytes(let bytes): "\(Array(bytes))"
    default: "\(value)"
    }
  }

  private func roundTrip(_ schema: [FieldSchema], _ api: API, _ version: Int16) throws {
    let isFlexible = version >= api.flexibleFrom
    var seed: Int64 = 0
    for value in [sample(schema, version, &seed), .fields([])] {
      var writer = MessageWriter()
      writer.message(value, schema, version: version, isFlexible: isFlexible)
      var reader = MessageReader(writer.bytes[...])
      let read = try reader.message(schema, version: version, isFlexible: isFlexible)
      if value != .fields([]) { #expect(plain(read) == plain(value), "\(api.name) \(version)") }
      // Cut short anywhere, it is refused and not read beyond its end.
      for count in 0..<writer.bytes.count {
        var reader = MessageReader(writer.bytes[..<count])
        #expect(throws: MessageReader.Malformed.self) {
          _ = try reader.message(schema, version: version, isFlexible: isFlexible)
        }
      }
    }
  }

  @Test func `each message is read as it was written, in each version`() throws {
    for api in API.all {
      for version in api.versions {
        try roundTrip(api.request, api, version)
        try roundTrip(api.answer, api, version)
      }
    }
  }

  @Test func `unknown tagged fields are skipped, and known ones read`() throws {
    let schema = FieldSchema.fields("A:i8 B:s?@1#3 C:i16#7=-1")
    var writer = MessageWriter()
    writer.message(["A": 1, "B": "b", "C": 5], schema, version: 1, isFlexible: true)
    #expect(writer.bytes == [1, 2, 3, 2, 2, 98, 7, 2, 0, 5])
    var reader = MessageReader([1, 2, 1, 1, 0, 7, 2, 0, 5])
    let read = try reader.message(schema, version: 1, isFlexible: true)
    #expect(read["A"] == 1 && read["B"].isNull && read["C"] == 5)
  }

  @Test func `a message with too many fields costs no memory without end`() {
    let schema = FieldSchema.fields("List:[ A:i8@9 ]")
    // Two million empty structures.
    let bytes: [UInt8] = [0x81, 0x89, 0x7A] + [UInt8](repeating: 0, count: 3_000_000)
    var reader = MessageReader(bytes[...])
    #expect(throws: MessageReader.Malformed.self) {
      _ = try reader.message(schema, version: 0, isFlexible: true)
    }
  }

  @Test func `a refusal says the error of everything that was asked for`() throws {
    for api in API.all {
      for version in api.versions {
        var seed: Int64 = 0
        let request = sample(api.request, version, &seed)
        let answer = Refusal.answer(to: request, api, .topicNotAuthorized)
        var writer = MessageWriter()
        writer.message(
          answer, api.answer, version: version, isFlexible: version >= api.flexibleFrom)
        #expect(!writer.bytes.isEmpty)
      }
    }
    let produce = Refusal.answer(
      to: ["Topics": [["Name": "a", "Partitions": [["Index": 3, "Records": .bytes([1])]]]]],
      API.numbered(0)!, .notLeader)
    let partition = produce["Topics"].list[0]["Partitions"].list[0]
    #expect(partition["Index"] == 3 && partition["Error"] == 6)
  }

  @Test func `ApiVersions of the future is told apart, other unknown requests end the connection`()
  {
    func problem(_ key: UInt8, _ version: UInt8) -> Request.Problem? {
      let frame: [UInt8] = [0, key, 0, version, 0, 0, 0, 7, 0, 1, 99, 0, 0, 0]
      do {
        _ = try Request(frame[...])
        return nil
      } catch {
        return error
      }
    }
    #expect(problem(18, 9) == .unknownVersions(correlation: 7))
    #expect(problem(3, 99) == .malformed)
    #expect(problem(99, 0) == .malformed)
  }
}
