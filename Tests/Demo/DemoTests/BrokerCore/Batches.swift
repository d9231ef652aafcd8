// SPDX-License-Identifier: Apache-2.0
@testable import BrokerCore

/// Batches as a client writes them.
enum Batches {
  private static func varint(_ value: Int) -> [UInt8] {
    var rest = UInt64(bitPattern: Int64(value << 1 ^ value >> 63))
    var bytes: [UInt8] = []
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7F) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }

  /// - Parameters:
  ///   - records: key and value of each; nil for none.
  ///   - time: of the first record; each further one is a millisecond later.
  static func batch(
    _ records: [(key: String?, value: String?)], time: Int64 = 1_000, producer: Int64 = -1,
    epoch: Int16 = -1, sequence: Int32 = -1
  ) -> [UInt8] {
    var writer = MessageWriter()
    let last = Int64(records.count - 1)
    for (number, size): (Int64, Int) in [
      (0, 8), (0, 4), (0, 4), (2, 1), (0, 4), (0, 2), (last, 4), (time, 8), (time + last, 8),
      (producer, 8), (Int64(epoch), 2), (Int64(sequence), 4), (last + 1, 4),
    ] { writer.int(number, size) }
    for (delta, record) in records.enumerated() {
      var body: [UInt8] = [0] + varint(delta) + varint(delta)
      for part in [record.key, record.value] {
        body += varint(part?.utf8.count ?? -1) + Array((part ?? "").utf8)
      }
      body += varint(0)
      writer.bytes += varint(body.count) + body
    }
    BatchHeader.seal(&writer.bytes)
    return writer.bytes
  }
}

/// A node with a storage in memory and a clock that only the test moves.
struct Desk {
  var node: Node
  let storage = MemoryStorage()
  var now = Moment(time: 1_000_000, ticks: 0)

  init(brokers: Int32 = 1, seed: UInt64 = 1, _ options: Node.Options = .init()) {
    node = Node(
      brokers: (1...brokers).map { .init(id: $0, host: "h", port: UInt16(9_000 + $0)) }, seed: seed,
      options)
  }

  mutating func ask(
    _ key: Int16, _ body: Value, version: Int16? = nil, from connection: UInt64 = 1,
    broker: Int32 = 1
  ) -> Node.Outcome {
    let api = API.numbered(key)!
    let request = Request(
      api: api, version: version ?? api.versions.upperBound, correlation: 1, clientID: "c",
      body: body)
    return node.handle(request, from: Caller(.init(connection), broker: broker), at: now, storage)
  }

  /// The answer that must come at once.
  mutating func answer(
    _ key: Int16, _ body: Value, version: Int16? = nil, from connection: UInt64 = 1,
    broker: Int32 = 1
  ) -> Value {
    guard
      case .answer(let value) = ask(key, body, version: version, from: connection, broker: broker)
    else { return .null }
    return value
  }

  mutating func create(_ name: String, partitions: Int32 = 1, _ settings: [String: String] = [:]) {
    var all = TopicSettings()
    for (key, value) in settings { precondition(all.set(key, value) == nil) }
    _ = try? node.create(name, partitions: partitions, all, storage)
  }

  mutating func produce(_ topic: String, _ batch: [UInt8], index: Int32 = 0, broker: Int32 = 1)
    -> Value
  {
    answer(
      0,
      [
        "Acks": -1,
        "Topics": [
          [
            "Name": .text(topic),
            "Partitions": [["Index": .number(index), "Records": .bytes(batch[...])]],
          ]
        ],
      ], broker: broker)["Topics"].list[0]["Partitions"].list[0]
  }

  static func fetchRequest(
    _ topic: String, from offset: Int64, minBytes: Int64 = 1, wait: Int64 = 500,
    most: Int64 = 1 << 20
  ) -> Value {
    [
      "SessionEpoch": -1, "MaxWaitMs": .int(wait), "MinBytes": .int(minBytes),
      "MaxBytes": .int(most),
      "Topics": [
        [
          "Name": .text(topic),
          "Partitions": [
            ["Index": 0, "LeaderEpoch": -1, "Offset": .int(offset), "MaxBytes": .int(most)]
          ],
        ]
      ],
    ]
  }

  /// The records that an answer to Fetch brings.
  func records(_ answer: Value) -> [Record] {
    guard case .stored(let ranges) = answer["Topics"].list[0]["Partitions"].list[0]["Records"]
    else { return [] }
    var bytes: [UInt8] = []
    for range in ranges { storage.read(range, into: &bytes) }
    var rest = bytes[...]
    var records: [Record] = []
    while let header = BatchHeader(rest), rest.count >= header.size {
      records += Records.read(rest, header) ?? []
      rest = rest.dropFirst(header.size)
    }
    return records
  }
}

extension Record {
  var name: String { key.map { String(decoding: $0, as: UTF8.self) } ?? "-" }
}
