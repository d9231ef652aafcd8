// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Kafka
import Records
import ServiceKit
import SignerDecisions
import Telemetry

/// The signer's one thread: membership in the signers' group, requests, the tokens' topic, minting.
///
/// The owner of partition 0 of the requests' topic is the one that mints. It reads the tokens' topic from its
/// beginning to its end each time it becomes the owner, so it goes on with its predecessor's tokens and mints
/// none early. There is no fence: an owner that was cut off stops when it notices, and tokens carry `iat` and
/// generation, by which senders go forward only.
final class SignerWorker {
  static let turnMilliseconds: Int32 = 250
  private static let retryMilliseconds: UInt64 = 5_000

  let settings: SignerSettings
  let context: ServiceContext
  let counters = Counters<SignerMetrics>()
  private let loop: ServiceLoop
  /// How old the provider tokens are.
  private let telemetry = LatestSamples()
  private var nextTelemetry: UInt64 = 0
  let tokensTopic: String
  let cluster: ClusterView
  var member: GroupMember
  let producer: TaggedProducer<Sent>
  private let output: KafkaTopic
  private let parser = JSONParser()

  var issuer: TokenIssuer
  var table: FollowedTopic?
  private var nextOpening: UInt64 = 0
  private var batch = KafkaBatch(capacity: 64)
  /// What is on its way to the topic.
  enum Sent {
    case token(ProviderTokenRecord)
    case removal(String)
    /// The last record of a withdrawal.
    case withdrawal(String)
  }

  var logThrottle = LogThrottle()
  private var clockDifference = ClockDifference()
  /// What keeps the tokens secret on their topic.
  var seal: TokenSeal
  /// The files whose change is noticed without a signal.
  var files: FileWatch
  let reloads = ReloadStatus(
    SignerMetrics.reloadRefused, [SignerWorker.credentialsFile, SignerWorker.tokenKeyFile])

  init(
    _ settings: SignerSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView
  ) throws {
    self.settings = settings
    self.context = context
    self.cluster = cluster
    loop = try ServiceLoop("worker", context)
    tokensTopic = names.providerTokens
    issuer = TokenIssuer(settings.credentials)
    seal = settings.seal
    files = settings.files
    producer = try TaggedProducer(
      cluster.configuration, wakeup: loop.wakeup,
      watch: ProducerWatch(context, consequence: "token renewal waits"))
    output = try producer.topic(names.providerTokens)
    member = try GroupMember(
      Self.plan(settings, names), cluster.configuration, context, wakeup: loop.wakeup)
    context.counters.add(counters)
    context.counters.add(metrics: telemetry)
    context.counters.add(metrics: reloads)
  }

  var log: Logger { context.log }

  /// Runs until a stop is requested.
  func run() throws {
    log(SignerLog.credentialsLoaded, ["count": "\(settings.credentials.count)"])
    while !member.hasLeft { turn(loop.wait(Self.turnMilliseconds)) }
    producer.close()
    if let failure = member.failure { throw failure }
  }

  private func turn(_ now: UInt64) {
    issuer.machine.beginTurn(now: now)
    drainDeliveries(now)
    followGroup(now)
    let isAsked = context.signals.consumeReload()
    if isAsked || files.haveChanged(now: now) { reload(now, isAsked: isAsked) }
    openTable(now)
    readTokens()
    readRequests()
    publishWhatIsDue(now)
    withdraw(now)
    drainDeliveries(now)
    producer.lookAfter(now: now)
    publishStatus(now)
  }

  /// Once a second.
  private func publishStatus(_ now: UInt64) {
    guard now >= nextTelemetry else { return }
    nextTelemetry = now + 1_000
    counters.set(.clockDifferenceSeconds, Int(clockDifference.seconds(now: now)))
    let tokens = issuer.machine.isOwner ? issuer.machine.newest(wall: WallClock.seconds()) : []
    telemetry.publish(
      tokens.prefix(SignerMetrics.namedCredentials).map {
        MetricSample(SignerMetrics.tokenIssued, [$0.credential], Int($0.issuedAt))
      })
  }

  // MARK: What is read

  /// Opens the tokens' topic for the owner; should that fail, again a little later. Nothing is minted before it
  /// is read.
  private func openTable(_ now: UInt64) {
    guard issuer.machine.isOwner, table == nil, now >= nextOpening else { return }
    do throws(KafkaError) {
      table = try FollowedTopic(tokensTopic, cluster, wakeup: loop.wakeup)
    } catch {
      nextOpening = now + Self.retryMilliseconds
      log(SignerLog.tokensNotRead, ["error": "\(error)"])
    }
  }

  private func readTokens() {
    guard let table else { return }
    table.follow(forget: restart) { record in
      let credential = String(decoding: record.key, as: UTF8.self)
      guard record.value.baseAddress != nil else {
        return issuer.removed(credential, at: record.offset, in: record.partition)
      }
      let place = "\(tokensTopic)/\(record.partition)/\(record.offset)"
      do throws(RecordError) {
        let read = try ProviderTokenRecord(record.value, key: credential, parser: parser)
        if read.isRemoved {
          withdrawn(read, at: record.offset, in: record.partition, place)
        } else {
          receive(read, at: record.offset, in: record.partition, place)
        }
      } catch {
        counters.add(.foreignTokens)
        log(SignerLog.recordInvalid, ["at": place, "error": "\(error)"])
        _ = issuer.readStranger(credential, at: record.offset, in: record.partition)
      }
    }
  }

  private func restart() { issuer.machine.restart() }

  private func withdrawn(
    _ record: ProviderTokenRecord, at offset: Int64, in partition: Int32, _ place: String
  ) {
    do throws(TokenSealProblem) {
      _ = try seal.opened(record)
      issuer.machine.forgotten(record.credential, at: offset, in: partition)
    } catch {
      counters.add(.foreignTokens)
      log(SignerLog.recordInvalid, ["at": place, "error": "\(error)"])
      _ = issuer.readStranger(record.credential, at: offset, in: partition)
    }
  }

  private func receive(
    _ record: ProviderTokenRecord, at offset: Int64, in partition: Int32, _ place: String
  ) {
    let isComplete = (record.sealed != nil) == seal.isSealing
    let verdict = issuer.read(
      open(record, place), isComplete: isComplete, at: offset, in: partition,
      now: WallClock.seconds())
    switch verdict {
    // One that cannot be opened was said when it was tried.
    case .own, .sealed: break
    case .ofFuture(let seconds):
      counters.add(.futureTokens)
      log(
        SignerLog.tokenFromFuture,
        ["credential": record.credential, "seconds": "\(seconds)", "at": place])
    case .stranger:
      counters.add(.foreignTokens)
      log(SignerLog.tokenOfStranger, ["credential": record.credential, "at": place])
    case .unlisted:
      log(SignerLog.credentialUnlisted, ["credential": record.credential, "at": place])
    }
  }

  /// The record with its token if that can be read. One that cannot still counts in its credential's schedule: none
  /// is minted early.
  private func open(_ record: ProviderTokenRecord, _ place: String) -> ProviderTokenRecord {
    do throws(TokenSealProblem) {
      return try seal.opened(record, trustsPlain: true)
    } catch {
      counters.add(.unreadableTokens)
      log(SignerLog.tokenUnreadable, ["at": place, "error": "\(error)"])
      return record
    }
  }

  private func readRequests() {
    while member.take(into: &batch, upTo: batch.capacity) > 0 {
      for index in 0..<batch.count { read(batch[index]) }
      batch.release()
    }
  }

  private func read(_ record: KafkaRecord) {
    let source = member.source(record)
    if record.isEndOfPartition { return member.ended(source, at: record.offset) }
    if let error = record.error { return context.report(error, as: SignerLog.recordsNotRead) }
    switch member.admit(source, record) {
    case .known: return
    case .new: receiveRequest(record.value)
    // A sender that needs a token asks again.
    case .deadly: counters.add(.badRequests)
    }
    member.completed(source, epoch: member.epoch, record.offset)
  }

  private func receiveRequest(_ value: UnsafeRawBufferPointer) {
    counters.add(.requests)
    do throws(RecordError) {
      let request = try TokenRequest(value, parser: parser)
      if request.reason == TokenRequest.probe { return }
      handle(request, now: WallClock.milliseconds())
    } catch {
      counters.add(.badRequests)
      log(SignerLog.requestInvalid, ["error": "\(error)"])
    }
  }

  private func handle(_ request: TokenRequest, now: Int64) {
    let who = request.credential ?? "\(request.app ?? "")/\(request.environment?.description ?? "")"
    if let ahead = TokenIssuer.secondsAhead(request, now: now) {
      clockDifference.note(ahead, now: MonotonicClock.milliseconds())
      logOncePerMinute(.senderClockAhead, "", ["seconds": "\(ahead)"])
    }
    guard issuer.requested(request, now: now / 1_000) else {
      if logThrottle.isFirst(of: who) { log(SignerLog.credentialUnknown, ["for": who]) }
      return
    }
    guard request.reason != TokenRequest.missing, request.reason != TokenRequest.aging else {
      return
    }
    counters.add(.refusals)
    logOncePerMinute(.tokenRefused, who, ["for": who, "reason": request.reason])
  }

  private func logOncePerMinute(
    _ event: SignerLog, _ who: String, _ facts: KeyValuePairs<String, String>
  ) {
    if logThrottle.isDue(who, now: MonotonicClock.milliseconds()) { log(event, facts) }
  }

  // MARK: Minting

  func mayWrite(_ now: UInt64) -> Bool {
    issuer.machine.mayWrite(isRead: table?.isCaughtUp == true, now: now)
  }

  private func publishWhatIsDue(_ now: UInt64) {
    guard mayWrite(now) else { return }
    let seconds = WallClock.seconds()
    for place in issuer.machine.indices where !issuer.machine.isHeld(place, now: now) {
      guard !producer.isFull else { return }
      do throws(SigningError) {
        guard let work = try issuer.work(place, now: seconds) else { continue }
        let credential = work.record.credential
        let isCleared = !work.clears || clear(credential, as: .removal(credential))
        guard isCleared, publish(work.record) else {
          issuer.answered(work.record, isStored: false)
          issuer.machine.hold(place, now: now)
          continue
        }
      } catch {
        log(SignerLog.notSigned, ["error": "\(error)"])
        issuer.machine.hold(place, now: now)
      }
    }
  }

  /// Publishes a token, sealed if there is a key for that.
  ///
  /// - Returns: false when the record could not be handed over.
  private func publish(_ record: ProviderTokenRecord) -> Bool {
    do throws(TokenSealProblem) {
      return produce(record.key, try seal.sealed(record).value, .token(record))
    } catch {
      log(SignerLog.notEncrypted, ["error": "\(error)"])
      return false
    }
  }

  /// Withdraws a credential: says so, sealed if there is a key for that, and takes it off the topic.
  ///
  /// - Returns: false when a record could not be handed over.
  func withdraw(_ credential: String) -> Bool {
    // What is not named as credentials are is nobody's.
    guard
      let record = ProviderTokenRecord(withdrawing: credential, at: WallClock.seconds())
    else { return clear(credential, as: .withdrawal(credential)) }
    do throws(TokenSealProblem) {
      let value = try seal.sealed(record).value
      return produce(record.key, value, .removal(credential))
        && clear(credential, as: .withdrawal(credential))
    } catch {
      log(SignerLog.notEncrypted, ["error": "\(error)"])
      return false
    }
  }

  /// Takes what stands on the topic for a credential off it.
  ///
  /// - Returns: false when the tombstone could not be handed over.
  private func clear(_ credential: String, as sent: Sent) -> Bool {
    produce(Array(credential.utf8), nil, sent)
  }

  private func produce(_ key: [UInt8], _ value: [UInt8]?, _ sent: Sent) -> Bool {
    do throws(KafkaError) {
      return try producer.produce(output, key: key, value: value, as: sent)
    } catch {
      log(SignerLog.notPublished, ["error": "\(error)"])
      return false
    }
  }

  func drainDeliveries(_ now: UInt64) {
    for answer in producer.drainAnswers() {
      if let error = answer.refused {
        notStored(answer.tag)
        issuer.machine.failed(now: now)
        log(SignerLog.notPublished, ["error": answer.problem ?? "\(error)"])
        continue
      }
      if case .withdrawal(let credential) = answer.tag {
        log(SignerLog.credentialWithdrawn, ["credential": credential])
      }
      guard case .token(let record) = answer.tag else { continue }
      issuer.answered(
        record, isStored: true, at: answer.offset >= 0 ? answer.offset : nil,
        in: answer.partition)
      counters.add(.minted)
      log(
        SignerLog.published,
        [
          "credential": record.credential, "generation": "\(record.generation)",
          "issued_at": "\(record.issuedAt)",
        ])
    }
  }

  /// What became of a record that the topic does not get.
  func notStored(_ sent: Sent) {
    switch sent {
    case .token(let record): issuer.answered(record, isStored: false)
    case .removal(let credential), .withdrawal(let credential):
      issuer.machine.notWithdrawn(credential)
    }
  }
}
