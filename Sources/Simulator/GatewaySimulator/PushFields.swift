// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The positions of the header fields of a device push that the gateway reads.
public struct PushFields {
  public var method: UnsafeRawBufferPointer?
  public var path: UnsafeRawBufferPointer?
  public var authorization: UnsafeRawBufferPointer?
  public var identifier: UnsafeRawBufferPointer?
  public var topic: UnsafeRawBufferPointer?
  public var pushType: UnsafeRawBufferPointer?
  public var priority: UnsafeRawBufferPointer?
  public var expiration: UnsafeRawBufferPointer?
  public var collapseID: UnsafeRawBufferPointer?
  public var channelID: UnsafeRawBufferPointer?
  public var requestID: UnsafeRawBufferPointer?
  /// Whether one of the fields above occurred twice.
  public var hasDuplicate = false
  /// The size of the body in bytes.
  public var bodyCount = 0
  /// The part of the body that was kept.
  public var body = UnsafeRawBufferPointer(start: nil, count: 0)

  public init() {}

  /// Finds a request's fields; others are ignored, as APNs does.
  public init(_ request: borrowing ServerRequest) {
    for index in 0..<request.keptFields { add(request.name(index), request.value(index)) }
    bodyCount = request.bodyTotal
    body = request.body
  }

  /// Gives a push without a topic that of a certificate with only one.
  mutating func assumeTopic(of certificate: CertificateAccess?) {
    if topic == nil, deviceToken != nil { topic = certificate?.defaultTopic }
  }

  public mutating func add(_ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
    // The length tells almost all names apart; the comparison settles the rest.
    switch name.count {
    case 5: Self.set(&path, ":path", name, value, &hasDuplicate)
    case 7:
      Self.set(&identifier, "apns-id", name, value, &hasDuplicate)
      Self.set(&method, ":method", name, value, &hasDuplicate)
    case 10: Self.set(&topic, "apns-topic", name, value, &hasDuplicate)
    case 13:
      Self.set(&authorization, "authorization", name, value, &hasDuplicate)
      Self.set(&priority, "apns-priority", name, value, &hasDuplicate)
    case 14: Self.set(&pushType, "apns-push-type", name, value, &hasDuplicate)
    case 15:
      Self.set(&expiration, "apns-expiration", name, value, &hasDuplicate)
      Self.set(&channelID, "apns-channel-id", name, value, &hasDuplicate)
      Self.set(&requestID, "apns-request-id", name, value, &hasDuplicate)
    case 16: Self.set(&collapseID, "apns-collapse-id", name, value, &hasDuplicate)
    default: break
    }
  }

  private static func set(
    _ field: inout UnsafeRawBufferPointer?, _ wanted: StaticString,
    _ name: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer, _ hasDuplicate: inout Bool
  ) {
    guard name.spells(wanted) else { return }
    if field != nil { hasDuplicate = true }
    field = value
  }

  /// The part of the path after a prefix; nil if the path has a different prefix.
  func path(after prefix: StaticString) -> UnsafeRawBufferPointer? {
    let count = prefix.utf8CodeUnitCount
    guard let path, path.count >= count, let start = path.baseAddress,
      memcmp(start, prefix.utf8Start, count) == 0
    else { return nil }
    return UnsafeRawBufferPointer(rebasing: path[count...])
  }

  /// The device token in the path after `/3/device/`, possibly empty; nil if the path is a different one.
  public var deviceToken: UnsafeRawBufferPointer? {
    guard let rest = path(after: "/3/device") else { return nil }
    guard let slash = rest.first else { return rest }
    return slash == UInt8(ascii: "/") ? UnsafeRawBufferPointer(rebasing: rest.dropFirst()) : nil
  }
}
