// SPDX-License-Identifier: Apache-2.0

/// The position in a topic of device tokens that was read for a campaign. As text, `0:17.3-90,1:55.0-60`: the next
/// record of partition 0 is at offset 17, three of its lines are done, and its range ends before offset 90.
public struct TokenTopicCursor: Equatable, Sendable, CustomStringConvertible {
  /// The unread part of a partition.
  public struct Stretch: Equatable, Sendable {
    /// The offset of the next record.
    public fileprivate(set) var offset: Int64
    /// The number of its lines that are done.
    public fileprivate(set) var lines: Int
    /// One past the last offset; later records do not count.
    public let end: Int64

    public var isDone: Bool { offset >= end }
  }

  /// By partition.
  public private(set) var stretches: [Int32: Stretch]

  /// Starts with everything unread.
  ///
  /// - Parameter ranges: the offset range of each partition.
  public init(_ ranges: [Int32: Range<Int64>]) {
    stretches = ranges.mapValues { Stretch(offset: $0.lowerBound, lines: 0, end: $0.upperBound) }
  }

  /// Reads the text of `description`; nil for other texts.
  public init?(_ text: String) {
    stretches = [:]
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      guard let (partition, rest) = Self.pair(part, ":"), let (start, end) = Self.pair(rest, "-"),
        let (offset, lines) = Self.pair(start, "."), let partition = Int32(partition),
        let offset = Int64(offset), let lines = Int(lines), let end = Int64(end),
        partition >= 0, offset >= 0, lines >= 0, end >= 0, stretches[partition] == nil
      else { return nil }
      stretches[partition] = Stretch(offset: offset, lines: lines, end: end)
    }
  }

  private static func pair(_ text: Substring, _ separator: Character) -> (Substring, Substring)? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }

  public var description: String {
    stretches.sorted { $0.key < $1.key }
      .map { "\($0.key):\($0.value.offset).\($0.value.lines)-\($0.value.end)" }
      .joined(separator: ",")
  }

  /// The number of lines of a record that are done.
  public func lines(_ partition: Int32, _ offset: Int64) -> Int {
    guard let stretch = stretches[partition], stretch.offset == offset else { return 0 }
    return stretch.lines
  }

  /// Notes that this many lines of a record are done.
  public mutating func advance(_ partition: Int32, to offset: Int64, lines: Int = 0) {
    guard let stretch = stretches[partition], (stretch.offset, stretch.lines) < (offset, lines)
    else { return }
    stretches[partition] = Stretch(offset: offset, lines: lines, end: stretch.end)
  }

  /// Marks everything as read.
  public mutating func finish() {
    for (partition, stretch) in stretches { advance(partition, to: stretch.end) }
  }
}
