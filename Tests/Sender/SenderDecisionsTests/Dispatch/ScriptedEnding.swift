// SPDX-License-Identifier: Apache-2.0
import Contract
import SenderDecisions

extension ScriptedLoop {
  /// The end of a push.
  struct Ending: Equatable {
    let outcome: Outcome
    let cause: ReceiptCause?
    let answer: GatewayResponse?
    let attempts: Int
    /// Monotonic milliseconds.
    let at: UInt64
  }

  /// A push that was moved to a retry topic.
  struct Move: Equatable {
    let push: Int
    let tier: RetryTier
    let reason: ParkReason
    let at: UInt64
  }
}
