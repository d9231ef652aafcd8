// SPDX-License-Identifier: Apache-2.0

/// The local time of one zone: its offsets from UTC, and when they change.
public struct ZoneRules: Equatable, Sendable {
  /// From a time on, in seconds since the epoch, local time is so many seconds ahead of UTC.
  struct Change: Equatable, Sendable {
    let at: Int64
    let offset: Int64
  }

  /// Offsets of RFC 8536, in seconds.
  static let offsets = Int64(-89_999)...93_599

  /// Before the first change.
  let firstOffset: Int64
  /// In the order of their times.
  let changes: [Change]
  /// After the last change.
  let footer: ZoneFooter?

  /// When it is a local time. Of a time that does not occur, since clocks are put forward over it, by the offset before
  /// that; of one that occurs twice, the first.
  ///
  /// - Parameter time: milliseconds since 1970-01-01T00:00:00 by that clock, up to the year 9999.
  /// - Returns: milliseconds since the epoch.
  public func instant(ofLocal time: Int64) -> Int64 {
    let part = (time % 1_000 + 1_000) % 1_000
    let local = (time - part) / 1_000
    let (start, end) = (local - Self.offsets.upperBound, local - Self.offsets.lowerBound)
    var offset = offset(at: start)
    for change in changes(after: start, until: end) {
      let isBefore = local - offset < change.at
      let isSkipped = !isBefore && local - change.offset < change.at
      if isBefore || isSkipped { break }
      offset = change.offset
    }
    return (local - offset) * 1_000 + part
  }

  /// The seconds that local time is ahead of UTC.
  ///
  /// - Parameter time: seconds since the epoch.
  public func offset(at time: Int64) -> Int64 {
    if let footer, time >= changes.last?.at ?? .min { return footer.offset(at: time) }
    return changes.last { $0.at <= time }?.offset ?? firstOffset
  }

  private func changes(after start: Int64, until end: Int64) -> [Change] {
    let last = changes.last?.at ?? .min
    let later = footer?.changes(around: end).filter { $0.at > last } ?? []
    return (changes + later).filter { $0.at > start && $0.at <= end }
  }
}
