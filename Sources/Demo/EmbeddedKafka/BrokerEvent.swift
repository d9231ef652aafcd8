// SPDX-License-Identifier: Apache-2.0

/// An act of a mock cluster, as a line of its log tells it (`debug=mock`): the lines of librdkafka 2.0 to 2.16 are alike.
enum BrokerEvent: Equatable {
  struct Batch: Equatable {
    var topic: String
    var partition: Int
    var records: Int
    /// As they lie in the log.
    var bytes: Int
    /// Of the first record.
    var offset: Int64
    /// The first offset that the partition now has.
    var start: Int64
  }

  case appended(Batch)
  case committed(topic: String, partition: Int, offset: Int64, group: String)

  /// nil for a line that tells something else.
  init?(_ line: UnsafePointer<CChar>) {
    var line = LineReader(line)
    if line.pass("Broker ") {
      self.init(append: &line)
    } else if line.pass("Topic ") {
      self.init(commit: &line)
    } else {
      return nil
    }
  }

  /// `Broker 1: Log append things [3] 12 messages, 3456 bytes at offset 100 (log now 0..112, original start 0)`
  private init?(append line: inout LineReader) {
    guard line.number() != nil, line.pass(": Log append "), let topic = line.word(),
      line.pass(" ["), let partition = line.number(), line.pass("] "),
      let records = line.number(), line.pass(" messages, "),
      let bytes = line.number(), line.pass(" bytes at offset "),
      let offset = line.number(), line.pass(" (log now "), let start = line.number()
    else { return nil }
    self = .appended(
      Batch(
        topic: topic, partition: Int(partition), records: Int(records), bytes: Int(bytes),
        offset: offset, start: start))
  }

  /// `Topic things [3] committing offset 100 for group readers`
  private init?(commit line: inout LineReader) {
    guard let topic = line.word(), line.pass(" ["), let partition = line.number(),
      line.pass("] committing offset "), let offset = line.number(), line.pass(" for group "),
      let group = line.word()
    else { return nil }
    self = .committed(topic: topic, partition: Int(partition), offset: offset, group: group)
  }
}

/// Reads a line from its front.
private struct LineReader {
  private var rest: UnsafePointer<CChar>

  init(_ line: UnsafePointer<CChar>) { rest = line }

  /// Passes over a text if it comes next.
  mutating func pass(_ text: StaticString) -> Bool {
    for index in 0..<text.utf8CodeUnitCount
    where UInt8(bitPattern: rest[index]) != text.utf8Start[index] {
      return false
    }
    rest += text.utf8CodeUnitCount
    return true
  }

  mutating func number() -> Int64? {
    var value: Int64 = 0
    var count = 0
    while count < 18 {
      let digit = UInt8(bitPattern: rest[count]) &- UInt8(ascii: "0")
      guard digit < 10 else { break }
      value = value * 10 + Int64(digit)
      count += 1
    }
    rest += count
    return count > 0 ? value : nil
  }

  /// The word before the next space or the end.
  mutating func word() -> String? {
    var count = 0
    while rest[count] != 0, UInt8(bitPattern: rest[count]) != UInt8(ascii: " ") { count += 1 }
    defer { rest += count }
    return count == 0
      ? nil : String(decoding: UnsafeRawBufferPointer(start: rest, count: count), as: UTF8.self)
  }
}
