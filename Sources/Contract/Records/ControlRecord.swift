// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The value of a record of `push.controls`.
public enum ControlRecord {
  /// Whether the record pauses the subject of its key: its value is an object whose `paused` is true. A tombstone, or
  /// `paused` set to false, resumes it.
  ///
  /// - Returns: nil for an unreadable value, which pauses nothing.
  public static func isPaused(_ value: UnsafeRawBufferPointer?) -> Bool? {
    guard let value else { return false }
    return (try? JSONDocument(value))?.root["paused"]?.bool
  }

  /// The most bytes that are kept of who cancelled a campaign, for each of thousands.
  private static let longestAuthor = 256

  /// The control of the campaign in its key, and when it was written; nil for an unreadable value, which has no effect.
  public static func campaign(
    _ value: UnsafeRawBufferPointer
  ) -> (control: CampaignControl, at: Int64)? {
    guard let root = (try? JSONDocument(value))?.root, let at = root["at"]?.time else { return nil }
    let by = (root["by"]?.string ?? "").beginning(bytes: Self.longestAuthor)
    let isCancelled = root["cancelled"]?.bool == true
    return (
      CampaignControl(
        isPaused: root["paused"]?.bool == true, cancelledBy: isCancelled ? by : nil), at
    )
  }

  /// The header of a tombstone that removes the control of an earlier campaign: the start of the campaign that has the name
  /// now, in milliseconds since the epoch. A control since then stays in effect although it stands before the tombstone.
  public static let beforeHeader = "before"

  /// The prefix of the key of a record about an API key; its holder, in the form of `APIKey.actor`, follows.
  public static let holderPrefix = "holder:"

  /// The time up to which a holder's campaigns and waiting requests are ended, in milliseconds since the epoch, by when
  /// they were written. Nil for a value that ends nothing.
  public static func endsRequests(_ value: UnsafeRawBufferPointer) -> Int64? {
    guard let root = (try? JSONDocument(value))?.root, root["ended"]?.bool == true else {
      return nil
    }
    return root["at"]?.time
  }

  /// A value that is not a readable pace.
  public struct NoPace: Error, Sendable {
    /// The value as text.
    public let value: String
  }

  /// The pace that the record sets for the subject of its key: its value is an object whose `pace` is text such as
  /// `200/s`.
  ///
  /// - Returns: nil for a tombstone, which clears it.
  public static func pace(_ value: UnsafeRawBufferPointer?) throws(NoPace) -> PaceRate? {
    guard let value else { return nil }
    guard let rate = (try? JSONDocument(value))?.root["pace"]?.string.flatMap({ PaceRate($0) })
    else { throw NoPace(value: String(decoding: value, as: UTF8.self)) }
    return rate
  }

  /// Who wrote a record, when and why, as far as it says so. Anyone may have written anything.
  public struct Author: Sendable, Equatable {
    /// Milliseconds since the epoch.
    public var at: Int64?
    public var by: String?
    public var reason: String?

    public init(at: Int64?, by: String?, reason: String?) {
      self.at = at
      self.by = by
      self.reason = reason
    }

    /// The author of a record.
    public init(of value: UnsafeRawBufferPointer) {
      let record = (try? JSONDocument(value))?.root
      self.init(
        at: record?["at"]?.time, by: record?["by"]?.string, reason: record?["reason"]?.string)
    }
  }

  /// The value of a record with this member.
  public static func value(_ member: JSONObject.Member, by author: Author) -> [UInt8] {
    var record = JSONObject([member])
    if let at = author.at { record.append("at", .integer(at)) }
    if let by = author.by { record.append("by", .string(by)) }
    if let reason = author.reason { record.append("reason", .string(reason)) }
    return JSONValue.object(record).text
  }

  /// The value of a record that sets a pace.
  public static func value(_ pace: PaceRate, by author: Author) -> [UInt8] {
    value(.init(key: "pace", value: .string("\(pace)")), by: author)
  }
}

extension CampaignRecord {
  /// The author of a control of this campaign. A control counts from the campaign's start, and the clock of the host
  /// that started it may be ahead.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func author(now: Int64, by: String, reason: String?) -> ControlRecord.Author {
    ControlRecord.Author(at: max(now, at), by: by, reason: reason)
  }
}
