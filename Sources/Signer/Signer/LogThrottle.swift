// SPDX-License-Identifier: Apache-2.0

/// What was said of the credentials that senders ask for, so that it is not said for each request. Anybody may write
/// requests: of each kind at most a thousand names are remembered.
struct LogThrottle {
  private static let most = 1_000

  private var unknown: Set<String> = []
  private var saidAt: [String: UInt64] = [:]

  /// Whether nobody was told of this unknown name before.
  mutating func isFirst(of name: String) -> Bool {
    unknown.count < Self.most && unknown.insert(name).inserted
  }

  /// The list of credentials has changed.
  mutating func forgetUnknown() { unknown = [] }

  /// Whether a trouble of this name was said a minute ago or longer (monotonic milliseconds); it is said now.
  mutating func isDue(_ name: String, now: UInt64) -> Bool {
    if let last = saidAt[name], now - last < 60_000 { return false }
    if saidAt.count >= Self.most { saidAt = [:] }
    saidAt[name] = now
    return true
  }
}
