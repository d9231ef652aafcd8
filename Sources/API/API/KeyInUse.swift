// SPDX-License-Identifier: Apache-2.0
import Access

/// The key of a request with a slow body: if the key is revoked or expires, the body ends.
struct KeyInUse {
  /// The key as of `revision` of the key ring.
  private(set) var key: APIKey
  private var revision: Int

  init(_ key: APIKey, _ keys: KeyRing) {
    self.key = key
    revision = keys.revision
  }

  /// Updates the key; false when it is no longer valid.
  mutating func renew(_ keys: KeyRing) -> Bool {
    guard revision != keys.revision else { return true }
    guard let current = keys.current(key) else { return false }
    (key, revision) = (current, keys.revision)
    return true
  }
}
