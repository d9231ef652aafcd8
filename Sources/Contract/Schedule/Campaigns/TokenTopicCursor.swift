// SPDX-License-Identifier: Apache-2.0

/// How far a topic of device tokens was read for a campaign. As text, `0:17.3-90,1:55.0-60`: of partition 0 the next
/// record is that at offset 17, three lines of which are done, and offset 90 is the first that does not belong to it.
public struct TokenTopicCursor: Equatable, Sendable, CustomStringConvertible {
  /// The part of a partition that is left to read.
  public struct Stretch: Equatable, Sendable {
    /// Of the next record.
    public fileprivate(set) var offset: Int64
    /// Lines of it that are done.
    public fileprivate(set) var lines: Int
    /// One past the last offset; what is written later does not belong to it.
    public let end: Int64

    public var isDone: Bool { offset >= end }
  }

  /// By partition.
  public private(set) var stretches: [Int32: Stretch]

  /// Nothing is read.
  ///
  /// - Parameter ranges: the offsets of each partition.
  public init(_ ranges: [Int32: Range<Int64>]) {
    stretches = ranges.mapValues { Stretch(offset: $0.lowerBound, lines: 0, end: $0.upperBound) }
  }

  /// What `description` has written; nil for other texts.
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

  private static func pair(
    _ text: Substring, _ separator: Character
  ) -> (Substring, Substring)? {
    let parts = text.split(separator: separator, omittingEmptySubsequences: false)
    return parts.count == 2 ? (parts[0], parts[1]) : nil
  }

  public var description: String {
    stretches.sorted { $0.key < $1.key }
      .map { "\($0.key):\($0.value.offset).\($0.value.lines)-\($0.value.end)" }
      .joined(separator: ",")
  }

  /// Lines of a record that are done.
  public func lines(_ partition: Int32, _ offset: Int64) -> Int {
    guard let stretch = stretches[partition], stretch.offset == offset else { return 0 }
    return stretch.lines
  }

  /// So many lines of a record are done.
  public mutating func advance(_ partition: Int32, to offset: Int64, lines: Int = 0) {
    guard let stretch = stretches[partition],
      (stretch.offset, stretch.lines) < (offset, lines)
    else { return }
    stretches[partition] = Stretch(offset: offset, lines: lines, end: stretch.end)
  }

  /// Nothing is left to read.
  public mutating func finish() {
    for (partition, stretch) in stretches { advance(partition, to: stretch.end) }
  }
}
