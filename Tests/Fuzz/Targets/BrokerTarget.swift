// SPDX-License-Identifier: Apache-2.0
import BrokerCore

extension FuzzTarget {
  /// Requests to the broker, each with two bytes of length before it, one after the other to one cluster with a topic:
  /// without users, with users, and with users beside an anonymous one of few rights.
  static func brokerRequests() -> FuzzTarget {
    FuzzTarget("broker-requests") { bytes in
      let users = try? AccessControl(file: "user u p\nread topic t\nwrite topic *\nread group *")
      guard let users else { return "the file of users is refused" }
      var mixed = users
      mixed.admitsAnonymous = true
      mixed.revokeAll(from: AccessControl.anonymous)
      mixed.grant(.init(.read, .topic("t")), to: AccessControl.anonymous)
      for access in [AccessControl(), users, mixed] {
        if let problem = problem(of: bytes, access) { return problem }
      }
      return nil
    }
  }

  private static func problem(
    of bytes: UnsafeRawBufferPointer, _ access: AccessControl
  ) -> String? {
    let storage = MemoryStorage()
    storage.capacity = 1 << 20
    var node = Node(brokers: [.init(id: 1, host: "127.0.0.1", port: 9_092)], seed: 1)
    node.access = access
    _ = try? node.create("t", partitions: 2, TopicSettings(), storage)
    var rest = Array(bytes)[...]
    var now = Moment(time: 1_000_000, ticks: 0)
    var number: UInt64 = 0
    while rest.count > 2 {
      let size = Int(rest.removeFirst()) << 8 | Int(rest.removeFirst())
      let frame = rest.prefix(size)
      rest = rest.dropFirst(size)
      now.ticks += 100
      now.time += 100
      number += 1
      node.tick(at: now, storage)
      _ = node.takeReplies(storage)
      guard let request = try? Request(frame) else { continue }
      let isKnown = node.user(of: .init(number % 3)) != nil
      let outcome = node.handle(request, from: Caller(.init(number % 3)), at: now, storage)
      guard isKnown || outcome == .close || [17, 18, 36].contains(request.api.key) else {
        return "\(request.api.name) is answered without authentication"
      }
      let body: Value
      switch outcome {
      case .answer(let answer): body = answer
      case .farewell(let answer):
        body = answer
        node.disconnected(.init(number % 3), at: now)
      default: continue
      }
      let answer = Request.answer(
        body, to: request.api, version: request.version, correlation: request.correlation
      ) { range, output in
        storage.read(range, into: &output)
        return true
      }
      guard request.answer(in: answer.bytes[4...]) != nil else {
        return "an answer to \(request.api.name) \(request.version) that cannot be read"
      }
    }
    node.retain(at: now, storage)
    return nil
  }
}
