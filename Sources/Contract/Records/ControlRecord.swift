// SPDX-License-Identifier: Apache-2.0
public import Contract
public import JSON
public import Schedule

/// The value of a record of `push.controls`.
public enum ControlRecord {
  /// Whether the record pauses what its key names: its value is an object whose `paused` is true. A tombstone, and one
  /// whose `paused` is false, resumes it.
  ///
  /// - Returns: nil for a value that cannot be read, which pauses nothing.
  public static func isPaused(_ value: UnsafeRawBufferPointer?) -> Bool? {
    guard let value else { return false }
    return (try? JSONDocument(value))?.root["paused"]?.bool
  }

  /// What the record asks of the campaign that its key names, and when it was written; nil for a value that cannot be
  /// read, which asks nothing.
  public static func campaign(
    _ value: UnsafeRawBufferPointer
  ) -> (control: CampaignControl, at: Int64)? {
    guard let root = (try? JSONDocument(value))?.root, let at = root["at"]?.time else { return nil }
    let by = root["by"]?.string ?? ""
    let isCancelled = root["cancelled"]?.bool == true
    return (
      CampaignControl(
        isPaused: root["paused"]?.bool == true, cancelledBy: isCancelled ? by : nil), at
    )
  }

  /// The beginning of the key of a record about a key of the HTTP API; its holder, as `APIKey.actor` has it, follows.
  public static let holderPrefix = "holder:"

  /// When what a holder has asked for was ended, in milliseconds since the epoch: campaigns and requests that wait for their
  /// time and were written until then. Nil for a value that ends nothing.
  public static func endsRequests(_ value: UnsafeRawBufferPointer) -> Int64? {
    guard let root = (try? JSONDocument(value))?.root, root["ended"]?.bool == true else {
      return nil
    }
    return root["at"]?.time
  }

  /// A value that cannot be read as a pace.
  public struct NoPace: Error, Sendable {
    /// As text.
    public let value: String
  }

  /// The pace that the record sets for what its key names: its value is an object whose `pace` is text such as `200/s`.
  ///
  /// - Returns: nil for a tombstone, which clears it.
  public static func pace(_ value: UnsafeRawBufferPointer?) throws(NoPace) -> PaceRate? {
    guard let value else { return nil }
    guard let rate = (try? JSONDocument(value))?.root["pace"]?.string.flatMap({ PaceRate($0) })
    else { throw NoPace(value: String(decoding: value, as: UTF8.self)) }
    return rate
  }

  /// Who has written a record, when and why, as far as it says so. Anyone may have written anything.
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

  /// The value that a record with this member has.
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
