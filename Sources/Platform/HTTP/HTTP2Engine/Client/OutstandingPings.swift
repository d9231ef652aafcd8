// SPDX-License-Identifier: Apache-2.0

/// PINGs that wait for their answers, by what they carry.
public struct OutstandingPings {
  /// Oldest first.
  private var payloads: [UInt64] = []

  public init() {}

  public mutating func sent(_ payload: UInt64) { payloads.append(payload) }

  /// Takes an answer; false: it answers none of them. An answer also stands for the older PINGs.
  public mutating func isAnswered(by payload: UInt64) -> Bool {
    guard let place = payloads.firstIndex(of: payload) else { return false }
    payloads.removeFirst(place + 1)
    return true
  }
}
