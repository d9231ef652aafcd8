// SPDX-License-Identifier: Apache-2.0
import Access
import EventLoop
import Glibc
import ServiceKit
import Signing

/// The API keys that are valid now, with what each has used of its rate. The file is read again when it has changed.
struct KeyRing {
  private static let lookMilliseconds: UInt64 = 1_000

  private let path: String
  private let context: ServiceContext
  private(set) var table: APIKeyTable
  private var buckets: [String: RateBucket] = [:]
  private var stamp: Stamp
  private var lookAt: UInt64 = 0

  private struct Stamp: Equatable {
    var inode: UInt64 = 0
    var seconds = 0
    var nanoseconds = 0
    var size: Int64 = 0

    init(_ path: String) {
      var status = stat()
      guard stat(path, &status) == 0 else { return }
      inode = UInt64(status.st_ino)
      seconds = status.st_mtim.tv_sec
      nanoseconds = status.st_mtim.tv_nsec
      size = Int64(status.st_size)
    }
  }

  /// Throws when the file cannot be read.
  init(_ path: String, _ context: ServiceContext) throws(ServiceFailure) {
    self.path = path
    self.context = context
    stamp = Stamp(path)
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
    let current = Stamp(path)
    guard isAsked || current != stamp else { return }
    stamp = current
    do throws(APIKeysFile.Failure) {
      table = try APIKeysFile.read(path)
      buckets = buckets.filter { name, _ in table.keys.contains { $0.name == name } }
      context.log.info("API keys reloaded", ["keys": "\(table.keys.count)"])
    } catch {
      context.log.error(
        "the API keys cannot be reloaded; the previous ones stay", ["error": "\(error)"])
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
