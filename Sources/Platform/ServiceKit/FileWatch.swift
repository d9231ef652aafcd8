// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// Notices that one of several files was replaced or rewritten, such as credentials and the keys that they name.
///
/// It looks at the files' states, so it works with secrets that an orchestrator mounts and swaps. Files that belong
/// together are often replaced one after the other: a change counts once nothing has changed since the last look.
public struct FileWatch: Sendable {
  /// Between two looks, in milliseconds; longer for more than 2,500 files, of which it looks at 5 each millisecond.
  private static let interval: UInt64 = 500
  /// Looks after which a change counts though the files change on and on.
  private static let patience = 10
  /// Until files that could not be used are tried again though none of those that are known has changed: they may name
  /// one that was not there. In milliseconds.
  private static let retryInterval: UInt64 = 10_000

  private var known: [String: File.Version?] = [:]
  private var nextLook: UInt64 = 0
  private var unsettled = 0
  private var retryAt: UInt64?
  /// True if files are read again that have not changed, because some of them could not be used.
  private(set) var isRetry = false

  /// To be called before these files are read: what changes from now on is news.
  public init(_ paths: [String]) { follow(paths) }

  /// True if the files are to be read again. One that is gone is no change: it is on its way to be replaced.
  public mutating func haveChanged(now: UInt64) -> Bool {
    guard now >= nextLook else { return false }
    nextLook = now + max(Self.interval, UInt64(known.count) / 5)
    if note() {
      unsettled += 1
      return unsettled >= Self.patience
    }
    return unsettled > 0 || retryAt.map { now >= $0 } == true
  }

  /// To be called before the files are read: what changes from now on is news.
  public mutating func begin() {
    isRetry = !note() && unsettled == 0 && retryAt != nil
    (unsettled, retryAt) = (0, nil)
  }

  /// Follows these files from now on, which have been read after `begin`.
  public mutating func follow(_ paths: [String]) {
    let before = known
    known = [:]
    for path in paths { known[path] = before[path] ?? File.version(path) }
  }

  /// The files could not be used.
  public mutating func retry(now: UInt64) { retryAt = now + Self.retryInterval }

  /// Takes in the files' states; returns whether one is another than before.
  private mutating func note() -> Bool {
    var isChanged = false
    for (path, version) in known {
      guard let found = File.version(path), found != version else { continue }
      known[path] = found
      isChanged = true
    }
    return isChanged
  }
}
