// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Delivery
import EventLoop
import JSON
import Kafka
import Pipeline
import Records
import ServiceKit
import Signing

/// The signer's one thread: membership in the signers' group, requests, the tokens' topic, minting.
///
/// The owner of partition 0 of the requests' topic is the one that mints. It reads the tokens' topic from its
/// beginning to its end each time it becomes the owner, so it goes on with its predecessor's tokens and mints
/// none early. There is no fence: an owner that was cut off stops when it notices, and tokens carry `iat` and
/// generation, by which senders go forward only.
final class SignerWorker {
  static let turnMilliseconds: Int32 = 250
  /// A turn that took longer than this may have cost us the membership without our knowing yet.
  private static let suspiciousPause: UInt64 = 2_000
  private static let settleMilliseconds: UInt64 = 3_000
  private static let retryMilliseconds: UInt64 = 5_000

  let settings: SignerSettings
  let context: ServiceContext
  let log: Logger
  let counters = Counters<SignerCounter>()
  private let heartbeat: Heartbeat
  private let telemetry = SignerTelemetry()
  private var nextTelemetry: UInt64 = 0
  let wakeup = Wakeup()
  let tokensTopic: String
  let cluster: ClusterView
  var member: GroupMember
  let producer: KafkaProducer
  private let output: KafkaTopic
  private var watch: ProducerWatch
  private let parser = JSONParser()

  var issuer: TokenIssuer
  /// Whether this signer is the one that mints: it owns the requests' partition.
  var isOwner = false
  var table: KafkaTable?
  private var nextOpening: UInt64 = 0
  private var batch = KafkaBatch(capacity: 64)
  /// What is on its way to the topic.
  enum Sent {
    case token(ProviderTokenRecord)
    case removal(String)
  }

  /// Records on their way, by tag.
  var outstanding: [UInt: Sent] = [:]
  private var nextTag: UInt = 1
  private var deliveries: [Delivery] = []
  var mintNotBefore: UInt64 = 0
  var unknownApps: Set<String> = []
  /// When a trouble of a credential was said last: not again within a minute.
  private var saidAt: [String: UInt64] = [:]
  /// What keeps the tokens secret on their topic.
  var seal: TokenSeal
  /// The files whose change is noticed without a signal.
  var files: FileWatch
  let reloads = ReloadStatus(
    SignerMetrics.reloadRefused, [SignerWorker.credentialsFile, SignerWorker.tokenKeyFile])
  /// When credentials that are not in the file go off the topic at the latest.
  var withdrawBy: UInt64 = 0

  init(
    _ settings: SignerSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView
  ) throws {
    self.settings = settings
    self.context = context
    self.cluster = cluster
    log = context.log
    heartbeat = context.status.heartbeat("worker")
    tokensTopic = names.providerTokens
    issuer = TokenIssuer(settings.credentials)
    seal = settings.seal
    files = FileWatch(Self.paths(settings, settings.credentials, settings.seal))
    producer = try KafkaProducer(cluster.configuration, wakeup: wakeup)
    watch = ProducerWatch(context, consequence: "token renewal waits")
    output = try producer.topic(known: names.providerTokens)
    member = try GroupMember(
      Self.plan(settings, names), cluster.configuration, context, wakeup: wakeup)
    context.counters.add(counters)
    context.counters.add(metrics: telemetry)
    context.counters.add(metrics: reloads)
  }

  /// Runs until a stop is requested.
  func run() throws {
    let poller = try Poller(capacity: 4)
    try poller.add(wakeup.fd, token: 0, .readable)
    context.signals.subscribe(wakeup)
    log.info("credentials loaded", ["count": "\(settings.credentials.count)"])
    var ready: [ReadyEvent] = []
    var lastTurn = MonotonicClock.milliseconds()
    while !member.hasLeft {
      poller.wait(timeoutMilliseconds: Self.turnMilliseconds, into: &ready)
      wakeup.clear()
      let now = MonotonicClock.milliseconds()
      if now - lastTurn > Self.suspiciousPause { mintNotBefore = now + Self.settleMilliseconds }
      lastTurn = now
      heartbeat.beat(now)
      turn(now)
    }
    producer.close()
    if let failure = member.failure { throw failure }
  }

  private func turn(_ now: UInt64) {
    takeDeliveries(now)
    followGroup(now)
    let isAsked = context.signals.takeReload()
    if isAsked || files.haveChanged(now: now) { reload(now, isAsked: isAsked) }
    openTable(now)
    readTokens()
    readRequests()
    publishWhatIsDue(now)
    withdraw(now)
    takeDeliveries(now)
    watch.turn(producer, now: now)
    publishStatus(now)
  }

  /// Once a second.
  private func publishStatus(_ now: UInt64) {
    guard now >= nextTelemetry else { return }
    nextTelemetry = now + 1_000
    telemetry.publish(isOwner ? issuer.newest(now: WallClock.seconds()) : [])
  }

  // MARK: What is read

  /// Opens the tokens' topic for the owner; should that fail, again a little later. Nothing is minted before it
  /// is read.
  private func openTable(_ now: UInt64) {
    guard isOwner, table == nil, now >= nextOpening else { return }
    do throws(KafkaError) {
      table = try KafkaTable(
        cluster.configuration, topic: tokensTopic, partitions: cluster.partitions[tokensTopic],
        wakeup: wakeup)
    } catch {
      nextOpening = now + Self.retryMilliseconds
      log.warning("cannot read the provider tokens; retrying", ["error": "\(error)"])
    }
  }

  private func readTokens() {
    guard let table else { return }
    table.pollRecords(timeoutMilliseconds: 0) { record in
      let credential = String(decoding: record.key, as: UTF8.self)
      guard record.value.baseAddress != nil else {
        return issuer.removed(credential, at: record.offset)
      }
      let place = "\(tokensTopic)/\(record.partition)/\(record.offset)"
      do throws(RecordError) {
        let read = try ProviderTokenRecord(record.value, key: credential, parser: parser)
        if read.isRemoved {
          withdrawn(read, at: record.offset, place)
        } else {
          take(read, at: record.offset, place)
        }
      } catch {
        counters.add(.foreignTokens)
        log.error(
          "invalid provider token record; replacing it",
          ["at": place, "error": "\(error)"])
        _ = issuer.readStranger(credential, at: record.offset)
      }
    }
  }

  /// A signer has withdrawn a credential.
  private func withdrawn(_ record: ProviderTokenRecord, at offset: Int64, _ place: String) {
    do throws(TokenSealProblem) {
      _ = try seal.opened(record)
      issuer.withdrawn(record.credential, at: offset)
    } catch {
      counters.add(.foreignTokens)
      log.error("invalid provider token record; replacing it", ["at": place, "error": "\(error)"])
      _ = issuer.readStranger(record.credential, at: offset)
    }
  }

  private func take(_ record: ProviderTokenRecord, at offset: Int64, _ place: String) {
    let isComplete = (record.sealed != nil) == seal.isSealing
    let verdict = issuer.read(
      open(record, place), isComplete: isComplete, at: offset, now: WallClock.seconds())
    switch verdict {
    // One that cannot be opened was said when it was tried.
    case .own, .sealed: break
    case .ofFuture(let seconds):
      counters.add(.futureTokens)
      log.error(
        "provider token dated in the future; check the signers' clocks (NTP)",
        ["credential": record.credential, "seconds": "\(seconds)", "at": place])
    case .stranger:
      counters.add(.foreignTokens)
      log.error(
        "provider token not signed with this signer's key; replacing it. Only signers with the same credentials"
          + " file may write to this topic",
        ["credential": record.credential, "at": place])
    case .unlisted:
      log.warning(
        "credential not in the credentials file; withdrawing it",
        ["credential": record.credential, "at": place])
    }
  }

  /// The record with its token if that can be read. One that cannot still counts in its credential's schedule: none
  /// is minted early.
  private func open(_ record: ProviderTokenRecord, _ place: String) -> ProviderTokenRecord {
    do throws(TokenSealProblem) {
      return try seal.opened(record, trustsPlain: true)
    } catch {
      counters.add(.unreadableTokens)
      log.error("cannot read a provider token", ["at": place, "error": "\(error)"])
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
    if let error = record.error {
      return log.warning("cannot read records; retrying", ["error": "\(error)"])
    }
    switch member.admit(source, record) {
    case .known: return
    case .new: take(record.value)
    // A sender that needs a token asks again.
    case .deadly: counters.add(.badRequests)
    }
    member.completed(source, epoch: member.epoch, record.offset)
  }

  private func take(_ value: UnsafeRawBufferPointer) {
    counters.add(.requests)
    do throws(RecordError) {
      let request = try TokenRequest(value, parser: parser)
      if request.reason == TokenRequest.probe { return }
      handle(request, now: WallClock.milliseconds())
    } catch {
      counters.add(.badRequests)
      log.warning("invalid token request; ignored", ["error": "\(error)"])
    }
  }

  private func handle(_ request: TokenRequest, now: Int64) {
    let who =
      request.credential ?? "\(request.app ?? "")/\(request.environment?.description ?? "")"
    if let ahead = TokenIssuer.secondsAhead(request, now: now) {
      counters.set(.clockDifferenceSeconds, Int(ahead))
      logOncePerMinute(
        "a sender's clock is ahead of this signer's; check both (NTP): provider tokens carry the signer's time",
        "", ["seconds": "\(ahead)"])
    }
    guard issuer.requested(request, now: now / 1_000) else {
      if unknownApps.count < 1_000, unknownApps.insert(who).inserted {
        log.warning(
          "a sender needs a credential that the credentials file does not list", ["for": who])
      }
      return
    }
    guard request.reason != TokenRequest.missing, request.reason != TokenRequest.aging else {
      return
    }
    counters.add(.refusals)
    logOncePerMinute(
      "APNs refuses a provider token; check that key id, team id and key belong together, that the key was not revoked"
        + " in Apple's developer portal, and this machine's clock", who,
      ["for": who, "reason": request.reason])
  }

  private func logOncePerMinute(
    _ text: String, _ who: String, _ facts: KeyValuePairs<String, String>
  ) {
    let now = MonotonicClock.milliseconds()
    if let last = saidAt[who], now - last < 60_000 { return }
    if saidAt.count >= 1_000 { saidAt = [:] }
    saidAt[who] = now
    log.error(text, facts)
  }

  // MARK: Minting

  private func publishWhatIsDue(_ now: UInt64) {
    guard let table, table.isCaughtUp, now >= mintNotBefore, !producer.isFull else { return }
    let seconds = WallClock.seconds()
    for place in issuer.indices {
      do throws(SigningError) {
        guard let work = try issuer.work(place, now: seconds) else { continue }
        let isCleared = !work.clears || clear(work.record.credential)
        guard isCleared, publish(work.record) else {
          issuer.answered(work.record, isStored: false)
          mintNotBefore = now + Self.retryMilliseconds
          return
        }
      } catch {
        log.error("cannot sign a provider token", ["error": "\(error)"])
        mintNotBefore = now + Self.retryMilliseconds
        return
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
      log.error("cannot encrypt a provider token", ["error": "\(error)"])
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
    else { return clear(credential) }
    do throws(TokenSealProblem) {
      let value = try seal.sealed(record).value
      return produce(record.key, value, .removal(credential)) && clear(credential)
    } catch {
      log.error("cannot encrypt a provider token", ["error": "\(error)"])
      return false
    }
  }

  /// Takes what stands on the topic for a credential off it.
  ///
  /// - Returns: false when the tombstone could not be handed over.
  private func clear(_ credential: String) -> Bool {
    produce(Array(credential.utf8), nil, .removal(credential))
  }

  private func produce(_ key: [UInt8], _ value: [UInt8]?, _ sent: Sent) -> Bool {
    let tag = nextTag
    nextTag += 1
    let result = key.withUnsafeBytes { key in
      (value ?? []).withUnsafeBytes { bytes in
        producer.produce(
          output, key: key, value: value == nil ? nil : bytes, headers: [], tag: tag)
      }
    }
    switch result {
    case .queued:
      outstanding[tag] = sent
      return true
    case .full: return false
    case .refused(let error):
      log.error("Kafka refused a provider token", ["error": "\(error)"])
      return false
    }
  }

  func takeDeliveries(_ now: UInt64) {
    producer.drainDeliveries(into: &deliveries)
    for delivery in deliveries {
      guard let sent = outstanding.removeValue(forKey: delivery.tag) else { continue }
      if let error = delivery.refused {
        switch sent {
        case .token(let record): issuer.answered(record, isStored: false)
        case .removal(let credential): issuer.notWithdrawn(credential)
        }
        mintNotBefore = now + Self.retryMilliseconds
        log.error("Kafka refused a provider token", ["error": "\(error)"])
        continue
      }
      guard case .token(let record) = sent else { continue }
      issuer.answered(record, isStored: true, at: delivery.offset >= 0 ? delivery.offset : nil)
      counters.add(.minted)
      log.info(
        "provider token published",
        [
          "credential": record.credential, "generation": "\(record.generation)",
          "issued_at": "\(record.issuedAt)",
        ])
    }
    deliveries.removeAll(keepingCapacity: true)
  }
}
