// SPDX-License-Identifier: Apache-2.0

internal import Contract

/// The load that a run of `benchmarks/run`, or another one, puts on Kafka: its processes, and how many notifications
/// per second they work on.
public struct KafkaLoad: Sendable, Equatable {
  public var name: String
  public var rate: Double
  public var processes: [KafkaProcess]

  /// Requests per second of all processes.
  public func requests(_ cluster: KafkaCluster) -> Double {
    processes.reduce(0) { $0 + $1.fetches(cluster) + $1.produces(cluster) }
  }

  /// The load writes notifications, senders send them.
  public static func sender(
    _ name: String, rate: Double, partitions: Int, senders: Int = 1
  ) -> KafkaLoad {
    let written = KafkaFlow(
      rate: rate, bytes: record.notificationBytes, partitions: partitions,
      linger: KafkaDefaults.linger)
    return KafkaLoad(
      name: name, rate: rate,
      processes: [
        KafkaProcess(name: "load", writes: [written]),
        senderProcess(written, senders: senders, partitions: 2 * partitions + retryPartitions),
      ])
  }

  /// The load writes requests, ingest makes notifications of them, senders send these.
  ///
  /// - Parameters:
  ///   - fanOut: notifications of a request.
  ///   - isKeyed: whether requests have a key. Those without one go to one partition at a time.
  ///   - lanes: lanes that are written to.
  public static func pipeline(
    _ name: String, rate: Double, partitions: Int = 12, senders: Int = 1, fanOut: Double = 1,
    isKeyed: Bool = true, lanes: Int = 1
  ) -> KafkaLoad {
    let requests = KafkaFlow(
      rate: rate / fanOut, bytes: record.requestBytes, partitions: isKeyed ? partitions : 1,
      linger: KafkaDefaults.linger)
    let written = KafkaFlow(
      rate: rate, bytes: record.notificationBytes, partitions: lanes * partitions,
      linger: KafkaDefaults.lingerOfIngest)
    return KafkaLoad(
      name: name, rate: rate,
      processes: [
        KafkaProcess(name: "load", writes: [requests]),
        KafkaProcess(
          name: "ingest", reads: [requests], tables: ingestTables, writes: [written],
          partitions: partitions),
        senderProcess(written, senders: senders, partitions: 2 * partitions + retryPartitions),
      ])
  }

  /// The load writes answers of APNs about devices that are gone, feedback writes each as an invalid token.
  public static func feedback(_ name: String, rate: Double, partitions: Int = 12) -> KafkaLoad {
    let answers = KafkaFlow(
      rate: rate, bytes: 400, partitions: partitions, linger: KafkaDefaults.linger)
    let invalid = KafkaFlow(
      rate: rate, bytes: 250, partitions: partitions, linger: KafkaDefaults.linger)
    return KafkaLoad(
      name: name, rate: rate,
      processes: [
        KafkaProcess(name: "load", writes: [answers]),
        KafkaProcess(
          name: "feedback", reads: [answers], tables: feedbackTables, writes: [invalid],
          partitions: partitions),
      ])
  }

  /// Every process, and nothing to do.
  public static func idle(_ name: String) -> KafkaLoad {
    KafkaLoad(
      name: name, rate: 0,
      processes: [
        KafkaProcess(name: "signer", tables: [1], partitions: 1),
        KafkaProcess(name: "ingest", tables: ingestTables, partitions: 12),
        KafkaProcess(name: "sender", tables: senderTables, partitions: 24 + retryPartitions),
        KafkaProcess(name: "feedback", tables: feedbackTables, partitions: 4),
      ])
  }

  /// Partitions as `martlet topics create` makes them: of the three retry topics together, of receipts, and of the
  /// topics that each program reads as a whole. Ingest: invalid tokens. Sender: provider tokens and controls. Feedback:
  /// devices and invalid tokens.
  public static let retryPartitions = 12
  private static let receiptPartitions = 6
  private static let ingestTables = [4]
  private static let senderTables = [1, 1]
  private static let feedbackTables = [4, 4]
  private static let record = PlanRequest(rate: 1, answers: AnswerTimes(median: 1, p99: 1))

  private static func senderProcess(
    _ written: KafkaFlow, senders: Int, partitions: Int
  ) -> KafkaProcess {
    KafkaProcess(
      name: "sender", copies: senders, reads: [written], tables: senderTables,
      writes: [receipts(rate: written.rate, senders: senders)], partitions: partitions)
  }

  /// Receipts of senders with one loop: a record holds the outcomes of a linger time, `ReceiptLimits.outcomes` at most.
  /// They have no key, and each goes to a partition by itself.
  private static func receipts(rate: Double, senders: Int) -> KafkaFlow {
    let each = rate / Double(senders)
    let most = 1_000 / Double(ReceiptLimits.age)
    let records = Double(senders) * max(each / Double(ReceiptLimits.outcomes), min(each, most))
    return KafkaFlow(
      rate: records, bytes: PlanRequest.receiptBytes * rate / records,
      partitions: receiptPartitions, linger: KafkaDefaults.lingerOfSenders, writers: senders)
  }
}
