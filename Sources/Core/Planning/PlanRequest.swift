// SPDX-License-Identifier: Apache-2.0

/// The rate and the conditions that a deployment is planned for.
public struct PlanRequest: Sendable, Equatable {
  /// Notifications per second at the peak, above 0.
  public var rate: Double
  /// Percent of them on the bulk lane, 0 … 100.
  public var bulkPercent = 50
  public var answers: AnswerTimes
  /// Bytes of a notification's payload.
  public var body = 262
  public var limits = LoopLimits()
  /// Percent of a core, and of what bounds a loop, that is used at the peak: the rest is for retries, rebalances, and
  /// the loss of a host.
  public var used = 70
  /// Loops of one sender process: its cores.
  public var loopsPerSender = 4
  /// Loops in all, and partitions of each lane, if they are given rather than planned.
  public var loops: Int?
  public var partitions: Int?
  /// Replicas of each partition.
  public var copies = 3
  /// Bytes per second that one broker writes with ease, copies included. An assumption, not a measurement.
  public var brokerBytes = 60_000_000.0
  public var seed: UInt64 = 1

  public init(rate: Double, answers: AnswerTimes) {
    precondition(rate > 0)
    self.rate = rate
    self.answers = answers
  }

  /// Bytes of a record by its topic: fields and the payload, before compression.
  public var requestBytes: Double { Double(body + 210) }
  public var notificationBytes: Double { Double(body + 200) }
  public static let receiptBytes = 330.0
  /// Bytes that a push takes beside its payload on the way up, TLS included, and an answer on the way down.
  public static let pushOverhead = 300.0
  public static let answerBytes = 60.0
}
