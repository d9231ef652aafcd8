// SPDX-License-Identifier: Apache-2.0

public import Contract
internal import EventLoop

/// A receipt line for counting: fields are searched where `ReceiptEncoder` writes them, without parsing. Valid only
/// while the line's bytes are.
public struct ReceiptGlance {
  private static let start = Array(#"{"outcome":""#.utf8)
  private static let idKey = key("id", isText: true)
  private static let apnsIDKey = key("apns_id", isText: true)
  private static let tokenKey = key("token", isText: true)
  private static let appKey = key("app", isText: true)
  private static let environmentKey = key("environment", isText: true)
  private static let campaignKey = key("campaign", isText: true)
  private static let reasonKey = key("reason", isText: true)
  private static let statusKey = key("status", isText: false)
  private static let createdKey = key("created", isText: false)
  private static let atKey = key("at", isText: false)

  private let line: UnsafeRawBufferPointer
  public let outcome: String

  /// - Returns: nil for a line that is not a receipt.
  public init?(_ line: UnsafeRawBufferPointer) {
    guard line.starts(with: Self.start) else { return nil }
    self.line = line
    outcome = Self.text(line, from: Self.start.count)
  }

  /// The request id.
  public var id: String? { text(Self.idKey) }

  /// The push; nil for a receipt of a whole request.
  public var apnsID: NotificationID? { text(Self.apnsIDKey).flatMap { NotificationID($0) } }

  /// The campaign of the receipt, with its app and environment; nil for none.
  ///
  /// The campaign's name is the last member of such a receipt, and has no character that JSON escapes. `data`, which
  /// may have any members, is an object: if it came last, two braces would follow.
  public var campaign: CampaignKey? {
    guard line.count > Self.campaignKey.count + 2, line[line.count - 1] == UInt8(ascii: "}"),
      line[line.count - 2] == UInt8(ascii: "\"")
    else { return nil }
    let end = line.count - 2
    let least = max(Self.campaignKey.count, end - CampaignKey.longestName)
    var start = end
    while start > least, RequestRules.isNameCharacter(line[start - 1]) { start -= 1 }
    guard line[(start - Self.campaignKey.count)..<start].elementsEqual(Self.campaignKey),
      let app = text(Self.appKey),
      let environment = text(Self.environmentKey).flatMap({ Environment($0) })
    else { return nil }
    return CampaignKey(
      name: String(decoding: line[start..<end], as: UTF8.self), app: app, environment: environment)
  }

  /// True if the record ends like a receipt of a campaign.
  public static func mayBeOfCampaign(_ record: UnsafeRawBufferPointer) -> Bool {
    record.holds(campaignKey)
  }

  /// True if the receipt is of this app and environment.
  public func isOf(_ app: String, _ environment: String) -> Bool {
    holds(Self.appKey, app) && holds(Self.environmentKey, environment)
  }

  /// True if it is about a request that ingest refused as a whole, rather than a device.
  public var isOfRequest: Bool {
    outcome == "\(Outcome.deadLettered)" && text(Self.apnsIDKey) == nil
      && text(Self.tokenKey) == nil
  }

  /// True if APNs reported the device token invalid.
  public var isUnregistered: Bool {
    guard outcome == "\(Outcome.rejected)" else { return false }
    return number(Self.statusKey) == 410 || text(Self.reasonKey) == "\(Reason.badDeviceToken)"
  }

  /// The time from the request to the outcome, in milliseconds; nil if unknown.
  public var duration: Int64? {
    guard let created = number(Self.createdKey), let at = number(Self.atKey) else { return nil }
    return at - created
  }

  /// The `apns-id` and times of a delivered push; nil for any other receipt.
  public var delivered: (id: NotificationID, created: Int64, at: Int64)? {
    guard outcome == "\(Outcome.delivered)", let id = apnsID,
      let created = number(Self.createdKey), let at = number(Self.atKey)
    else { return nil }
    return (id, created, at)
  }

  private static func key(_ name: String, isText: Bool) -> [UInt8] {
    Array((isText ? ",\"\(name)\":\"" : ",\"\(name)\":").utf8)
  }

  private func text(_ key: [UInt8]) -> String? {
    line.offset(of: key).map { Self.text(line, from: $0 + key.count) }
  }

  private func holds(_ key: [UInt8], _ value: String) -> Bool {
    guard let place = line.offset(of: key) else { return false }
    let rest = line[(place + key.count)...]
    return rest.starts(with: value.utf8) && rest.dropFirst(value.utf8.count).first == 0x22
  }

  /// At most 18 digits.
  private func number(_ key: [UInt8]) -> Int64? {
    guard let place = line.offset(of: key) else { return nil }
    let digits = line[(place + key.count)...].prefix(19).prefix { $0 >= 0x30 && $0 <= 0x39 }
    guard (1...18).contains(digits.count) else { return nil }
    return digits.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
  }

  private static func text(_ line: UnsafeRawBufferPointer, from start: Int) -> String {
    String(decoding: line[start...].prefix { $0 != 0x22 }, as: UTF8.self)
  }
}
