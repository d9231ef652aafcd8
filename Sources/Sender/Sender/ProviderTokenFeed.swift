// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import SenderDecisions
import ServiceKit

/// Follows the provider tokens' topic for the loops, and opens what is sealed there. Owned by the control
/// thread.
///
/// What arrived in a turn goes to the loops as one message. A book of its own shows what each record means: what is
/// strange is said and counted once, not by every loop.
final class ProviderTokenFeed {
  private let topic: FollowedTopic
  private let context: ServiceContext
  private let counters: Counters<SenderMetrics>
  private let parser = JSONParser()
  private var seal: TokenSeal
  private var book = ProviderTokenBook()
  private var watch = ProviderTokenWatch()
  private let status = LatestSamples()
  /// The newest record of each credential whose newest no key of ours opens.
  private var unreadable: [String: ProviderTokenRecord] = [:]
  /// What has come in this turn.
  private var updates: [ProviderTokenBook.Update] = []
  private var hasToldAll = false

  init(
    _ topic: FollowedTopic, _ seal: TokenSeal, _ context: ServiceContext,
    counters: Counters<SenderMetrics>
  ) {
    self.topic = topic
    self.seal = seal
    self.context = context
    self.counters = counters
    context.counters.add(metrics: status)
  }

  /// Hands on what has come, and asks for what is missing. Waits for nothing.
  func turn(_ tell: (LoopMessage) -> Void, want: (TokenRequest) -> Void) {
    topic.follow { record in
      let place = "\(topic.name)/\(record.partition)/\(record.offset)"
      let credential = String(decoding: record.key, as: UTF8.self)
      guard record.value.baseAddress != nil else {
        return vanished(credential, place)
      }
      do throws(RecordError) {
        let read = try ProviderTokenRecord(record.value, key: credential, parser: parser)
        if read.isRemoved { withdraw(read, place) } else { receive(read, place) }
      } catch {
        counters.add(.badTokenRecords)
        context.log(SenderLog.tokenInvalid, ["at": place, "error": "\(error)"])
      }
    }
    hand(tell)
    look(want)
  }

  /// Reads the key file again: what no key opened is tried with the new ones.
  ///
  /// - Returns: why the file cannot be used, which leaves everything as it was.
  func reload(_ tell: (LoopMessage) -> Void) -> TokenSealProblem? {
    do throws(TokenSealProblem) {
      guard let read = try seal.reread() else { return nil }
      seal = read
      context.log(SenderLog.tokenKeyReloaded)
    } catch {
      return error
    }
    for record in Array(unreadable.values) {
      if record.isRemoved {
        withdraw(record, "read before", isNews: false)
      } else {
        receive(record, "read before", isNews: false)
      }
    }
    hand(tell)
    return nil
  }

  /// A tombstone: the record is gone. With a key it says nothing, for anybody may have written it. Without one it takes
  /// the token, and the credential's pushes wait for the next: only the signer's word withdraws a credential.
  private func vanished(_ credential: String, _ place: String) {
    guard let index = book.index(of: credential) else {
      unreadable[credential] = nil
      return
    }
    counters.add(.vanishedTokens)
    guard seal.trustsPlain else {
      return context.log(
        SenderLog.tokenRemovedByStranger,
        ["credential": book.entries[index].credential, "at": place])
    }
    unreadable[credential] = nil
    context.log(
      SenderLog.tokenRemoved, ["credential": book.entries[index].credential, "at": place])
    note(.lost(credential: credential), place)
  }

  /// The signer withdraws a credential. One that is older than the token was said before that came back.
  private func withdraw(_ record: ProviderTokenRecord, _ place: String, isNews: Bool = true) {
    do throws(TokenSealProblem) {
      _ = try seal.opened(record)
    } catch {
      if isNews { counters.add(.badTokenRecords) }
      // With its key it counts, and not the tokens before it.
      unreadable[record.credential] = record
      return context.log(SenderLog.tokenInvalid, ["at": place, "error": "\(error)"])
    }
    if let index = book.index(of: record.credential),
      record.issuedAt < book.stamp(index).issuedAt
    {
      return
    }
    unreadable[record.credential] = nil
    context.log(SenderLog.credentialWithdrawn, ["credential": record.credential])
    note(.removed(credential: record.credential), place)
  }

  /// Opens a token for the loops. One that cannot be opened leaves those that are known as they are; its credential is
  /// known by it.
  private func receive(_ record: ProviderTokenRecord, _ place: String, isNews: Bool = true) {
    do throws(TokenSealProblem) {
      let opened = try seal.opened(record)
      unreadable[record.credential] = nil
      note(.token(opened.entry), place)
    } catch {
      if isNews { counters.add(.unreadableTokens) }
      context.log(SenderLog.tokenUnreadable, ["at": place, "error": "\(error)"])
      unreadable[record.credential] = record
      var entry = record.entry
      entry.token = []
      note(.token(entry), place)
    }
  }

  private func note(_ update: ProviderTokenBook.Update, _ place: String) {
    updates.append(update)
    let now = WallClock.milliseconds()
    guard case .quarantined(let index) = book.apply(update, now: now),
      case .token(let entry) = update
    else { return }
    counters.add(.futureTokens)
    context.log(
      SenderLog.tokenFromFuture,
      [
        "credential": book.entries[index].credential,
        "seconds": "\(entry.stamp.issuedAt - now / 1_000)", "at": place,
      ])
  }

  private func hand(_ tell: (LoopMessage) -> Void) {
    guard !updates.isEmpty || !hasToldAll && topic.isCaughtUp else { return }
    hasToldAll = topic.isCaughtUp
    tell(.providerTokens(updates, isComplete: hasToldAll))
    updates = []
  }

  // MARK: Tokens that are not renewed

  private func noteObstacle(_ report: ProviderTokenWatch.Report) {
    let more = report.without > 1 ? " and \(report.without - 1) more" : ""
    context.status.set(
      "provider-tokens",
      obstacle: report.example.map {
        "no provider token for credential \(book.entries[$0].credential)\(more)"
      })
  }

  private func look(_ want: (TokenRequest) -> Void) {
    let wall = WallClock.milliseconds()
    _ = book.refresh(now: wall)
    let now = Int64(MonotonicClock.milliseconds())
    guard let report = watch.look(at: book, now: now, wall: wall) else { return }
    for index in report.asks {
      want(
        TokenRequest(
          credential: book.entries[index].credential, app: nil, environment: nil,
          reason: TokenRequest.aging, at: wall))
    }
    counters.set(.credentialsWithoutToken, report.without)
    status.publish(book)
    noteObstacle(report)
    if report.isAlarm, let index = report.example {
      context.log(
        SenderLog.noToken,
        ["credentials": "\(report.without)", "one": book.entries[index].credential])
    }
    if report.isOver { context.log(SenderLog.everyTokenValid) }
  }
}
