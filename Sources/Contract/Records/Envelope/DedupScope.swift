// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The scope of a notification's id: app and environment, as 128 bits that no other process knows.
///
/// An app may choose its notifications' ids, and other apps' ids can be computed from public data. So the dedup windows
/// remember an id per app: mixed with these bits. They come from Swift's `Hasher` (SipHash with a per-process key):
/// without the key, nobody can find an id that collides with another app's. Windows never leave the process; another
/// process reads the ids again from the log.
enum DedupScope {
  /// - Parameters:
  ///   - app: the bundle id.
  ///   - environment: the environment; ids are separate in each.
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
