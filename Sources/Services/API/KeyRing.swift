// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import EventLoop
import ServiceKit
import Signing

/// The API keys that are valid now, with what each has used of its rate. The file is read again when it has changed.
struct KeyRing {
  private static let lookMilliseconds: UInt64 = 1_000

  private let path: String
  private let context: ServiceContext
  private(set) var table: APIKeyTable
  private var buckets: [String: RateBucket] = [:]
  private var version: File.Version?
  private var lookAt: UInt64 = 0

  /// Throws when the file cannot be read.
  init(_ path: String, _ context: ServiceContext) throws(ServiceFailure) {
    self.path = path
    self.context = context
    version = File.version(path)
    do throws(APIKeysFile.Failure) {
      table = try APIKeysFile.read(path)
    } catch {
      throw ServiceFailure("\(error)")
    }
  }

  /// Reads the file again if it has changed, or if that is asked for; a file with a mistake leaves the keys as they are.
  mutating func look(now: UInt64, isAsked: Bool) {
    guard isAsked || now >= lookAt else { return }
    lookAt = now + Self.lookMilliseconds
    let current = File.version(path)
    guard isAsked || current != version else { return }
    version = current
    do throws(APIKeysFile.Failure) {
      table = try APIKeysFile.read(path)
      buckets = buckets.filter { name, _ in table.keys.contains { $0.name == name } }
      context.log.info("API keys reloaded", ["keys": "\(table.keys.count)"])
    } catch {
      context.log.error(
        "invalid API keys file; keeping the previous keys", ["error": "\(error)"])
    }
  }

  /// The key that this text is, if there is one.
  func find(_ text: String) -> APIKey? {
    table.index(ofDigest: SHA256Digest.of(text).span).map { table.keys[$0] }
  }

  /// Milliseconds until the key's owner may send again; 0 means now.
  mutating func wait(_ key: APIKey, now: UInt64) -> UInt64 {
    guard let rate = key.rate else { return 0 }
    if buckets[key.name]?.rate != rate { buckets[key.name] = RateBucket(rate: rate, now: now) }
    return buckets[key.name]?.wait(now: now) ?? 0
  }

  /// Counts items of the key's owner.
  mutating func take(_ key: APIKey, _ items: Int, now: UInt64) {
    guard key.rate != nil else { return }
    buckets[key.name]?.take(items, now: now)
  }
}
