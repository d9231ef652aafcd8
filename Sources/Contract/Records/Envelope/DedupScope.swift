// SPDX-License-Identifier: Apache-2.0

internal import APNS

/// The scope of a notification's id: app and environment, as 128 bits that no other process knows.
///
/// An app may give its notifications ids of its own, and those of other apps can be computed from what is public. So the
/// windows of `apns-id`s remember an id under its app: mixed with these bits. They come of Swift's `Hasher` (SipHash with
/// a key of each process): who does not know the key finds no id that collides with another app's. Windows never leave
/// the process; another one reads the ids again from the log.
enum DedupScope {
  /// - Parameters:
  ///   - app: the bundle id.
  ///   - environment: with another one it is another notification.
  static func bits(app: Span<UInt8>, environment: Environment) -> NotificationID {
    NotificationID(high: half(0, app, environment), low: half(1, app, environment))
  }

  private static func half(_ number: UInt8, _ app: Span<UInt8>, _ environment: Environment)
    -> UInt64
  {
    var hasher = Hasher()
    hasher.combine(number)
    hasher.combine(environment.rawValue)
    app.withUnsafeBytes { hasher.combine(bytes: $0) }
    return UInt64(bitPattern: Int64(hasher.finalize()))
  }
}
