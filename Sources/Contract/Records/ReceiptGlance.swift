// SPDX-License-Identifier: Apache-2.0

internal import APNS
internal import Bytes
public import Contract

/// A receipt's line as it is counted: its fields are looked for where `ReceiptEncoder` writes them, and nothing is parsed.
/// To be used while the line's bytes are there.
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

  /// - Returns: nil for a line that is no receipt.
  public init?(_ line: UnsafeRawBufferPointer) {
    guard line.starts(with: Self.start) else { return nil }
    self.line = line
    outcome = Self.text(line, from: Self.start.count)
  }

  /// The request id.
  public var id: String? { text(Self.idKey) }

  /// The campaign that it belongs to, of the app and environment that it names; nil for none.
  ///
  /// The name is the last member of a receipt that has one, and has no character that JSON escapes. `data`, which may have
  /// any members, is an object: after one that stands last come two braces.
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

  /// The line ends as one that belongs to a campaign does.
  public static func mayBeOfCampaign(_ record: UnsafeRawBufferPointer) -> Bool {
    record.holds(campaignKey)
  }

  /// It is of this app.
  public func isOf(_ app: String, _ environment: String) -> Bool {
    holds(Self.appKey, app) && holds(Self.environmentKey, environment)
  }

  /// It is of a request that ingest has refused as a whole, and not of a device.
  public var isOfRequest: Bool {
    outcome == "\(Outcome.deadLettered)" && text(Self.apnsIDKey) == nil
      && text(Self.tokenKey) == nil
  }

  /// APNs has called the device token invalid.
  public var isUnregistered: Bool {
    guard outcome == "\(Outcome.rejected)" else { return false }
    return number(Self.statusKey) == 410 || text(Self.reasonKey) == "\(Reason.badDeviceToken)"
  }

  /// From the request to the outcome, in milliseconds; nil if that is not known.
  public var duration: Int64? {
    guard let created = number(Self.createdKey), let at = number(Self.atKey) else { return nil }
    return at - created
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
