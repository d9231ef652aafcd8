// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import HTTPServer
import Kafka
import Records
import ServiceKit

/// From the bytes of a body to records in Kafka.
extension APILoop {
  /// The most bytes of one request: what a broker takes in a record, less room for an id.
  static let longestItem = 900_000

  /// Whether a further request may be handed to Kafka.
  private func mayProduce(_ submission: Submission) -> Bool {
    !producer.isFull && producer.outstandingBytes < settings.maxInFlightBytes
      && (submission.items == 0 || keys.wait(submission.key, now: now) == 0)
  }

  /// Works on the items that are complete; false when it has to wait.
  func work(_ submission: Submission) -> Bool {
    if submission.isCutOff { giveUp(submission, .malformed("the gzip body ends too early")) }
    guard !submission.isGivenUp else { return true }
    do throws(ItemSplitter.Problem) {
      while true {
        guard let item = try submission.next() else { break }
        guard mayProduce(submission) else { return false }
        submission.passItem()
        guard item.count <= Self.longestItem else {
          giveUp(submission, .itemTooLarge(Self.longestItem))
          return true
        }
        submit(submission, item)
        if submission.isGivenUp { return true }
      }
    } catch {
      giveUp(submission, .malformed("\(error)"))
      return true
    }
    submission.removePassed()
    limit(submission)
    return true
  }

  /// Bounds what is kept of a body.
  private func limit(_ submission: Submission) {
    if submission.shape != .lines, submission.bytes > submission.maxBody {
      giveUp(submission, .tooLarge(submission.maxBody))
    } else if submission.buffer.count > Self.longestItem {
      giveUp(submission, .itemTooLarge(Self.longestItem))
    }
  }

  /// Hands one request to Kafka, or refuses it.
  private func submit(_ submission: Submission, _ range: Range<Int>) {
    submission.items += 1
    keys.take(submission.key, 1, now: now)
    let bytes = UnsafeRawBufferPointer(rebasing: submission.buffer.bytes[range])
    let outcome = items.read(
      bytes, key: submission.key, idempotencyKey: submission.idempotencyKey,
      number: submission.items, isOnly: submission.shape == .single)
    switch outcome {
    case .failure(let refusal): refuse(submission, refusal)
    case .success:
      let offset = submission.appendVerdict(items)
      let tag = VerdictPlace(slot: submission.slot ?? 0, offset: offset).tag
      switch producer.produce(topic, key: items.recordKey, value: items.recordValue, tag: tag) {
      case .queued: submission.outstanding += 1
      case .full:
        // Rare: it was asked before. The client repeats what has no 202.
        counters.add(.unacknowledged)
      case .refused(let error):
        context.log.error("Kafka refuses a request", ["error": "\(error)"])
        counters.add(.unacknowledged)
      }
    }
    spill(submission)
  }

  private func refuse(_ submission: Submission, _ refusal: ItemReader.Refusal) {
    counters.add(.refused)
    submission.noteRefusal(refusal.problem.status)
    submission.appendRefusal(refusal.problem, id: refusal.id)
  }

  private func spill(_ submission: Submission) {
    do throws(SystemError) {
      try submission.verdicts.spillIfLong()
    } catch {
      giveUp(submission, .unavailable("the verdicts cannot be kept: \(error)"))
    }
  }

  /// Looks at nothing more of the body; what was handed to Kafka before is answered for.
  func giveUp(_ submission: Submission, _ problem: Problem) {
    guard !submission.isGivenUp else { return }
    submission.isGivenUp = true
    submission.noteRefusal(problem.status)
    submission.ending = problem
  }
}
