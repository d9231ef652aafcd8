// SPDX-License-Identifier: Apache-2.0

import Contract

/// The provider token of a pool: the newest that its credential has.
struct PoolToken: Sendable {
  /// A token as connections choose it.
  struct Choice: Sendable {
    let stamp: ProviderTokenStamp
    /// Counts the tokens that the pool had.
    let number: UInt32
  }

  /// nil while there is none that may be sent.
  private(set) var newest: Choice?
  /// The token itself, a secret.
  private var text: [UInt8] = []
  private var count: UInt32 = 0

  /// The token itself, a secret; nil while there is none that may be sent.
  var bytes: [UInt8]? { newest == nil ? nil : text }

  /// Takes the token that the credential has now; nil for none that may be sent.
  ///
  /// - Returns: whether that is another one.
  mutating func replace(_ token: (stamp: ProviderTokenStamp, bytes: [UInt8])?) -> Bool {
    let hadToken = newest != nil
    guard let token else {
      newest = nil
      return hadToken
    }
    // The same token under another generation is no other token.
    if hadToken, text == token.bytes { return false }
    count += 1
    newest = Choice(stamp: token.stamp, number: count)
    text = token.bytes
    return true
  }
}
