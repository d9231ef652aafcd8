// SPDX-License-Identifier: Apache-2.0
public import Contract
import Crypto
import EventLoop
public import Records

/// Derives the `apns-id`s of a request's notifications: UUIDv5 of app, environment, request id and token
/// with zero bytes between, so that a repeated request makes the same notifications.
///
/// A request without an id is named by its place: `topic/partition/offset`.
public struct NotificationNaming: ~Copyable {
  private var name = ByteBuffer(capacity: 1_024)
  /// The length of the part of the name that all tokens of the request share.
  private var shared = 0

  public init() {}

  /// - Parameter topic: asked for only if the request has no id.
  public mutating func begin(
    _ request: borrowing PushRequest, topic: @autoclosure () -> [UInt8], partition: Int32,
    offset: Int64
  ) {
    name.removeAll()
    let namespace = NotificationID.namespace
    for word in [namespace.high, namespace.low] {
      withUnsafeBytes(of: word.bigEndian) { name.append($0) }
    }
    name.append(request.app)
    name.append(0)
    name.append(request.environment.name)
    name.append(0)
    if request.id.isEmpty {
      name.append(topic())
      name.append(UInt8(ascii: "/"))
      name.append(decimal: Int64(partition))
      name.append(UInt8(ascii: "/"))
      name.append(decimal: offset)
    } else {
      name.append(request.id)
    }
    name.append(0)
    shared = name.count
  }

  /// The id of the broadcast to this channel. No device token has a colon, so the two never meet.
  public mutating func id(channel: UnsafeRawBufferPointer) -> NotificationID {
    name.truncate(to: shared)
    name.append("channel:" as StaticString)
    name.append(channel)
    let digest = SHA1.digest(name.bytes)
    return NotificationID(version5Digest: digest.span)
  }

  /// The id of the notification to this token (lower case).
  public mutating func id(_ token: UnsafeRawBufferPointer) -> NotificationID {
    name.truncate(to: shared)
    name.append(token)
    let digest = SHA1.digest(name.bytes)
    return NotificationID(version5Digest: digest.span)
  }
}
