// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import ServiceKit
import Telemetry

/// Waits for the receipts of one push, to a device or to all devices of a user.
struct OutcomeWait {
  /// Milliseconds.
  private static let patience = 30_000

  private let push: PushWords
  /// The bytes of the id, to search records for.
  private let idBytes: [UInt8]
  private let tail: KafkaTail
  private let parser = JSONParser()
  private let start = MonotonicClock.milliseconds()

  /// Must be created before the push is produced.
  init(_ push: PushWords, _ cluster: KafkaCluster, _ names: TopicNames) throws(ServiceFailure) {
    self.push = push
    idBytes = Array(push.id.utf8)
    try cluster.demand(names.receipts, "martlet topics create creates it")
    tail = try orFail { try KafkaTail(cluster.configuration, topic: names.receipts, from: .end) }
  }

  /// Prints the outcomes; fails unless all are `delivered`.
  func run(_ context: ServiceContext) throws(ServiceFailure) {
    defer { tail.close() }
    let limit = TimeLimit(milliseconds: Self.patience)
    // For a user, the receipt of the request says how many there are.
    var expected = push.user == nil ? 1 : Int.max
    var (ended, failures): (Int, [String]) = (0, [])
    var known: Set<NotificationID> = []
    var batch = KafkaBatch(capacity: 500)
    while ended < expected, limit.left > 0, !context.signals.isStopping {
      _ = tail.poll(into: &batch, upTo: 1, timeoutMilliseconds: 100)
      for index in 0..<batch.count {
        for receipt in receipts(in: batch[index].value) {
          if receipt.outcome == .addressed {
            expected = Int(receipt.addressed ?? 0)
            if expected == 0 { failures.append(line(receipt)) }
            continue
          }
          // What ingest or a sender does again after a rebalance counts once.
          if receipt.outcome == .deduplicated { continue }
          let isAgain = receipt.apnsID.map { !known.insert($0).inserted } ?? false
          if isAgain { continue }
          ended += 1
          if isOfRequest(receipt) { expected = ended }
          if receipt.outcome == .delivered {
            StandardOutput.line(line(receipt))
          } else {
            failures.append(line(receipt))
          }
        }
      }
      batch.release()
      if let refusal = tail.lastError?.refusal(toRead: tail.topic) {
        throw ServiceFailure("\(push.id) is requested, and its outcome is not known: \(refusal)")
      }
    }
    let isStopping = context.signals.isStopping
    for line in failures.dropLast(isStopping ? 0 : 1) { StandardOutput.line(line) }
    if isStopping { throw context.signals.interrupted("\(push.id) is requested") }
    if let problem = Self.problem(failures.last, ended: ended, of: expected, push.id) {
      throw ServiceFailure(problem)
    }
  }

  /// Whether a request to a user was refused as a whole: none of its devices gets a push.
  private func isOfRequest(_ receipt: Receipt) -> Bool {
    receipt.outcome == .deadLettered && receipt.apnsID == nil && receipt.token == nil
  }

  /// The reason why not everything was delivered, if so.
  ///
  /// - Parameters:
  ///   - failure: the last outcome that is not `delivered`.
  ///   - ended: the number of known outcomes.
  static func problem(
    _ failure: String?, ended: Int, of expected: Int, _ id: String
  ) -> String? {
    guard ended < expected else { return failure }
    let missing =
      "no \(ended == 0 ? "" : "further ")outcome within \(patience / 1_000)s;"
      + " it may still come: martlet trace \(id)"
    return [failure, missing].compactMap { $0 }.joined(separator: "; ")
  }

  private func receipts(in value: UnsafeRawBufferPointer) -> [Receipt] {
    guard value.holds(idBytes) else { return [] }
    var found: [Receipt] = []
    Receipt.forEachLine(in: value) { line in
      guard let receipt = try? Receipt(line, parser: parser), receipt.id?.exact == push.id.exact
      else { return }
      found.append(receipt)
    }
    return found
  }

  /// A line such as `delivered  00fc13ad…  in 41 ms  apns-id 8f2c1c9e-0b5c-5d7e-9a3f-1f2e3d4c5b6a`.
  private func line(_ receipt: Receipt) -> String {
    var parts = ["\(receipt.outcome)"]
    if let reason = receipt.reason { parts[0] += " \(reason)" }
    if let token = receipt.token { parts.append(Redaction.shortened(token)) }
    // What the push took: the wait for its receipt is this command's own.
    let time = receipt.created.map { max(0, receipt.at - $0) }
    parts.append("in \(time ?? Int64(MonotonicClock.milliseconds() - start)) ms")
    if let id = receipt.apnsID { parts.append("apns-id \(id)") }
    if let detail = receipt.detail { parts.append(detail) }
    return TerminalText.plain(parts.joined(separator: "  "))
  }
}
