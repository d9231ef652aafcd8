// SPDX-License-Identifier: Apache-2.0
import Access

/// The key of a request whose body takes a while: a key that was revoked or has expired ends it.
struct KeyInUse {
  /// As the key ring had it when `revision` was its revision.
  private(set) var key: APIKey
  private var revision: Int

  init(_ key: APIKey, _ keys: KeyRing) {
    self.key = key
    revision = keys.revision
  }

  /// Takes the key as it is now; false when it is not valid any more.
  mutating func renew(_ keys: KeyRing) -> Bool {
    guard revision != keys.revision else { return true }
    guard let current = keys.current(key) else { return false }
    (key, revision) = (current, keys.revision)
    return true
  }
}
