// SPDX-License-Identifier: Apache-2.0

/// What a deployment is planned for.
package struct PlanRequest: Sendable, Equatable {
  /// Notifications per second at the peak, above 0.
  package var rate: Double
  /// Percent of them on the bulk lane, 0 … 100.
  package var bulkPercent = 50
  package var answers: AnswerTimes
  /// Bytes of a notification's payload.
  package var body = 262
  package var limits = LoopLimits()
  /// Percent of a core, and of what bounds a loop, that is used at the peak: the rest is for retries, rebalances, and
  /// the loss of a host.
  package var used = 70
  /// Loops of one sender process: its cores.
  package var loopsPerSender = 4
  /// Loops in all, and partitions of each lane, if they are given rather than planned.
  package var loops: Int?
  package var partitions: Int?
  /// Replicas of each partition.
  package var copies = 3
  /// Bytes per second that one broker writes with ease, copies included. An assumption, not a measurement.
  package var brokerBytes = 60_000_000.0
  package var seed: UInt64 = 1

  package init(rate: Double, answers: AnswerTimes) {
    precondition(rate > 0)
    self.rate = rate
    self.answers = answers
  }

  /// Bytes of a record by its topic: fields and the payload, before compression.
  package var requestBytes: Double { Double(body + 210) }
  package var notificationBytes: Double { Double(body + 200) }
  package static let receiptBytes = 330.0
  /// Bytes that a push takes beside its payload on the way up, TLS included, and an answer on the way down.
  package static let pushOverhead = 300.0
  package static let answerBytes = 60.0
}
