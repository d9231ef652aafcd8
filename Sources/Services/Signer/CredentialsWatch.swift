// SPDX-License-Identifier: Apache-2.0
import Bytes
import ServiceKit

/// Notices that the credentials file, a key file that it names, or the token key's file was replaced or rewritten.
///
/// It looks at the files' states, so it works with secrets that an orchestrator mounts and swaps.
struct CredentialsWatch {
  /// Between two looks, in milliseconds.
  private static let interval: UInt64 = 1_000

  private let paths: [String]
  private var known: [File.Version?]
  private var nextLook: UInt64 = 0

  init(_ path: String, _ credentials: [Credential], _ seal: TokenSeal) {
    paths = [path] + credentials.map(\.keyPath) + (seal.path.map { [$0] } ?? [])
    known = paths.map { File.version($0) }
  }

  /// Whether a file is another one than at the last look. A file that is gone is no change: it is on its way
  /// to be replaced.
  mutating func haveChanged(now: UInt64) -> Bool {
    guard now >= nextLook else { return false }
    nextLook = now + Self.interval
    var isChanged = false
    for (index, path) in paths.enumerated() {
      guard let version = File.version(path), version != known[index] else { continue }
      known[index] = version
      isChanged = true
    }
    return isChanged
  }
}
