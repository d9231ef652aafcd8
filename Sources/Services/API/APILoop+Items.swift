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

  /// True if more of a body may be looked at now: this turn has room for it, Kafka takes records, and its key's rate
  /// allows it.
  func mayGoOn(_ submission: Submission) -> Bool {
    guard budget.allows(submission.used(in: turns)) else {
      hasBacklog = true
      return false
    }
    return !producer.isFull && producer.outstandingBytes < settings.maxInFlightBytes
      && (!submission.bill.isBegun || keys.wait(submission.key, now: now) == 0)
  }

  /// Counts work on a body.
  func spend(_ cost: Int, on submission: Submission) {
    submission.use(cost, in: turns)
    budget.spend(cost)
  }

  /// Charges what was looked at to the key's rate.
  private func charge(_ submission: Submission) {
    submission.noteEmptyLines()
    keys.take(submission.key, submission.bill.due(), now: now)
  }

  /// A key that was revoked or has expired ends its bodies where they are; other rights count from the next request on.
  private func renewKey(_ submission: Submission) {
    guard submission.keyRevision != keys.revision else { return }
    submission.keyRevision = keys.revision
    guard let key = keys.current(submission.key) else {
      return giveUp(submission, .unauthorized("this API key is not valid any more"))
    }
    submission.key = key
  }

  /// Works on the items that are complete; false when it has to wait.
  func work(_ submission: Submission) -> Bool {
    if submission.isCutOff { giveUp(submission, .malformed("the gzip body ends too early")) }
    if !submission.isGivenUp { renewKey(submission) }
    guard !submission.isGivenUp else { return true }
    do throws(ItemSplitter.Problem) {
      while let item = try submission.next() {
        guard mayGoOn(submission) else { return false }
        submission.passItem()
        guard item.count <= Self.longestItem else {
          giveUp(submission, .itemTooLarge(Self.longestItem))
          return true
        }
        spend(TurnBudget.perRequest + item.count, on: submission)
        submit(submission, item)
        charge(submission)
        bound(submission)
        if submission.isGivenUp { return true }
      }
    } catch {
      giveUp(submission, .malformed("\(error)"))
      return true
    }
    submission.removePassed()
    charge(submission)
    bound(submission)
    limit(submission)
    return true
  }

  /// Bounds what is answered to a body, and bodies that are none of requests.
  private func bound(_ submission: Submission) {
    if submission.bill.isMostlyRefused {
      giveUp(submission, .mostlyRefused)
    } else if submission.verdicts.count > settings.maxVerdicts {
      giveUp(submission, .tooManyVerdicts(settings.maxVerdicts))
    }
  }

  /// Bounds what is kept of a body, and of all together.
  private func limit(_ submission: Submission) {
    if submission.shape != .lines, submission.bill.bytes > submission.maxBody {
      giveUp(submission, .tooLarge(submission.maxBody))
    } else if submission.buffer.count > Self.longestItem {
      giveUp(submission, .itemTooLarge(Self.longestItem))
    } else if submission.buffer.count > Inflater.piece, isOutOfMemory(submission.key) {
      giveUp(submission, .outOfMemory)
    }
  }

  /// Hands one request to Kafka, or refuses it.
  private func submit(_ submission: Submission, _ range: Range<Int>) {
    submission.bill.requests += 1
    let bytes = UnsafeRawBufferPointer(rebasing: submission.buffer.bytes[range])
    let outcome = items.read(
      bytes, key: submission.key, idempotencyKey: submission.idempotencyKey,
      number: submission.bill.requests, isOnly: submission.shape == .single)
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
    submission.bill.refused += 1
    submission.noteRefusal(refusal.problem.status)
    submission.appendRefusal(refusal.problem, id: refusal.id)
  }

  private func spill(_ submission: Submission) {
    let before = submission.verdicts.storedBytes
    do throws(SystemError) {
      try submission.verdicts.spillIfLong()
    } catch {
      giveUp(submission, .unavailable("the verdicts cannot be kept: \(error)"))
    }
    guard submission.verdicts.storedBytes > before else { return }
    submission.account()
    if isOutOfStorage(submission.key) { giveUp(submission, .outOfStorage) }
  }

  /// Looks at nothing more of the body; what was handed to Kafka before is answered for.
  func giveUp(_ submission: Submission, _ problem: Problem) {
    guard !submission.isGivenUp else { return }
    submission.isGivenUp = true
    submission.noteRefusal(problem.status)
    submission.ending = problem
    submission.dropBody()
  }
}
