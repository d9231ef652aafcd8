// SPDX-License-Identifier: Apache-2.0

/// The local time of one zone: its offsets from UTC, and when they change.
public struct ZoneRules: Equatable, Sendable {
  /// From a time on, in seconds since the epoch, the offset of local time ahead of UTC, in seconds.
  struct Change: Equatable, Sendable {
    let at: Int64
    let offset: Int64
  }

  /// The offsets allowed by RFC 8536, in seconds.
  static let offsets = Int64(-89_999)...93_599

  /// The offset before the first change.
  let firstOffset: Int64
  /// Ordered by time.
  let changes: [Change]
  /// The rule after the last change.
  let footer: ZoneFooter?

  /// The instant of a local time. A local time skipped when clocks are put forward is taken by the offset before the
  /// change; of one that occurs twice, the first counts.
  ///
  /// - Parameter time: milliseconds since 1970-01-01T00:00:00 local time, up to the year 9999.
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

  /// The offset of local time ahead of UTC, in seconds.
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
