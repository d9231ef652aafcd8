// SPDX-License-Identifier: Apache-2.0

public import Contract
public import EventLoop

/// A record of a lane that is not a notification: it frees the `apns-id` of an earlier one, which APNs refused because
/// of the request or the settings, not the device. The partition's owner, or a later reader, then treats the next
/// notification with this id as the first.
///
/// Its key is the notification's, so that it goes to the same partition.
public struct FreedID {
  /// The key under which the id counts as taken (`Envelope.dedupKey`).
  public let dedupKey: NotificationID

  /// The first byte of a value, which no notification begins with.
  public static let mark = UInt8(ascii: "F")
  /// The first field, with the tab after it.
  private static let version: StaticString = "F1\t"
  private static let versionBytes = 3

  /// Appends the value for a notification: the version, its id, environment and app, separated by tabs.
  ///
  /// - Parameter record: the notification's value.
  public static func append(
    of record: UnsafeRawBufferPointer, _ envelope: borrowing Envelope, to buffer: inout ByteBuffer
  ) {
    buffer.append(version)
    buffer.append(UnsafeRawBufferPointer(rebasing: record[envelope.idText.indices]))
    buffer.append(UInt8(ascii: "\t"))
    buffer.append(envelope.environment.name)
    buffer.append(UInt8(ascii: "\t"))
    buffer.append(UnsafeRawBufferPointer(rebasing: record[envelope.app.indices]))
  }

  /// Reads a value; nil for anything else.
  public init?(_ value: UnsafeRawBufferPointer) {
    let bytes = value.bindMemory(to: UInt8.self).span
    let environmentStart = Self.versionBytes + NotificationID.textLength + 1
    let tab = UInt8(ascii: "\t")
    guard bytes.count > environmentStart, bytes.count <= Envelope.maximumLine,
      bytes.extracting(0..<Self.versionBytes).spells("\(Self.version)"),
      bytes[environmentStart - 1] == tab, let id = NotificationID(bytes, at: Self.versionBytes)
    else { return nil }
    var end = environmentStart
    while end < bytes.count, bytes[end] != tab { end += 1 }
    guard end + 1 < bytes.count,
      let environment = Environment(bytes.extracting(environmentStart..<end))
    else { return nil }
    let scope = DedupScope.bits(
      app: bytes.extracting(end + 1..<bytes.count), environment: environment)
    dedupKey = NotificationID(high: scope.high ^ id.high, low: scope.low ^ id.low)
  }
}
