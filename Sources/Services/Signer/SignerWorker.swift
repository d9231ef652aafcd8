// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
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
  private static let turnMilliseconds: Int32 = 250
  /// A turn that took longer than this may have cost us the membership without our knowing yet.
  private static let suspiciousPause: UInt64 = 2_000
  private static let settleMilliseconds: UInt64 = 3_000
  private static let retryMilliseconds: UInt64 = 5_000

  let settings: SignerSettings
  private let context: ServiceContext
  let log: Logger
  private let counters = Counters<SignerCounter>()
  let wakeup = Wakeup()
  private let requestsPartition: TopicPartition
  let tokensTopic: String
  let cluster: ClusterView
  private let consumer: KafkaGroupConsumer
  private let producer: KafkaProducer
  private let output: KafkaTopic
  private let parser = JSONParser()

  var desk: MintingDesk
  /// Open while this signer owns the requests' partition.
  private var queue: KafkaQueue?
  var table: KafkaTable?
  private var nextOpening: UInt64 = 0
  private var batch = KafkaBatch(capacity: 64)
  private var nextOffset: Int64?
  private var committedOffset: Int64?
  /// Records on their way, by tag; nil for a tombstone.
  private var outstanding: [UInt: ProviderTokenRecord?] = [:]
  private var nextTag: UInt = 1
  private var deliveries: [Delivery] = []
  private var mintNotBefore: UInt64 = 0
  var unknownApps: Set<String> = []
  /// What keeps the tokens secret on their topic.
  var seal: TokenSeal
  /// The files whose change is noticed without a signal.
  var files: CredentialsWatch
  /// Credentials that are gone from the file and not yet from the topic, and when they go at the latest.
  var withdrawn: [String] = []
  var withdrawBy: UInt64 = 0

  init(
    _ settings: SignerSettings, _ context: ServiceContext, _ names: TopicNames,
    _ cluster: ClusterView
  ) throws {
    self.settings = settings
    self.context = context
    self.cluster = cluster
    log = context.log
    requestsPartition = TopicPartition(topic: names.tokenRequests, partition: 0)
    tokensTopic = names.providerTokens
    desk = MintingDesk(settings.credentials)
    seal = settings.seal
    files = CredentialsWatch(settings.credentialsPath, settings.credentials, settings.seal)
    producer = try KafkaProducer(cluster.configuration, wakeup: wakeup)
    output = try producer.topic(known: names.providerTokens)
    consumer = try KafkaGroupConsumer(
      cluster.configuration, group: names.group(.signer), topics: [names.tokenRequests],
      instanceID: settings.instanceID, wakeup: wakeup)
    context.counters.add(counters)
  }

  /// Runs until a stop is requested.
  func run() throws {
    let poller = try Poller(capacity: 4)
    try poller.add(wakeup.fd, token: 0, .readable)
    context.signals.subscribe(wakeup)
    log.info("signing for \(settings.credentials.count) credentials")
    var ready: [ReadyEvent] = []
    var lastTurn = MonotonicClock.milliseconds()
    while !context.signals.isStopping {
      poller.wait(timeoutMilliseconds: Self.turnMilliseconds, into: &ready)
      wakeup.clear()
      let now = MonotonicClock.milliseconds()
      if now - lastTurn > Self.suspiciousPause { mintNotBefore = now + Self.settleMilliseconds }
      lastTurn = now
      try turn(now)
    }
    stop()
  }

  private func turn(_ now: UInt64) throws {
    while let event = consumer.nextEvent(timeoutMilliseconds: 0) { try take(event) }
    if context.signals.takeReload() || files.haveChanged(now: now) { reload(now) }
    openTable(now)
    readTokens()
    readRequests()
    mintWhatIsDue(now)
    publishChangedApps()
    withdraw(now)
    takeDeliveries(now)
    commit()
  }

  private func stop() {
    if !producer.flush(timeoutMilliseconds: context.signals.isHurrying ? 0 : 5_000) {
      log.warning("stopping without Kafka's answer to a provider token")
    }
    release(commits: true)
    consumer.close()
    producer.close()
  }

  // MARK: Ownership

  /// Whether this signer is the one that mints.
  var isOwner: Bool { queue != nil }

  private func take(_ event: GroupEvent) throws {
    switch event {
    case .assigned(let partitions): try begin(partitions)
    case .revoked(_, let lost):
      release(commits: !lost)
      try consumer.unassign()
    case .offsetsCommitted(_, let error):
      if let error {
        log.debug("commit refused; trying again", ["error": "\(error)"])
        committedOffset = nil
      }
    case .error(let error): log.warning("kafka", ["error": "\(error)"])
    case .fatal(let error): throw error
    }
  }

  private func begin(_ partitions: [TopicPartition]) throws(KafkaError) {
    guard partitions.contains(requestsPartition) else {
      try consumer.assign([])
      log.info("standing by: another signer mints")
      return
    }
    nextOffset = nil
    committedOffset = nil
    queue = consumer.openQueue(requestsPartition, wakeup: wakeup)
    // The consumer looks the committed offset up, as often as the coordinator needs to be asked.
    try consumer.assign([PartitionStart(requestsPartition, offset: nil)])
    // A table of its own for each ownership: caught up means up to the end that the topic has now.
    readTableAnew()
    counters.set(.owner, 1)
    log.info("this signer mints now")
  }

  private func release(commits: Bool) {
    guard let queue else { return }
    if commits, let nextOffset, nextOffset != committedOffset {
      // Requests that are read twice change nothing.
      _ = try? consumer.commit([CommitRequest(requestsPartition, offset: nextOffset)])
    }
    withdrawOutstanding(patience: commits ? 500 : 0)
    queue.close()
    self.queue = nil
    table?.close()
    table = nil
    counters.set(.owner, 0)
  }

  /// What Kafka has not acknowledged must not reach the topic behind the next owner's records: a withdrawal would take
  /// a credential away that has a token again.
  ///
  /// - Parameter patience: how long Kafka may take to answer, in milliseconds.
  private func withdrawOutstanding(patience: UInt64) {
    guard !outstanding.isEmpty else { return }
    _ = producer.flush(timeoutMilliseconds: patience)
    takeDeliveries(MonotonicClock.milliseconds())
    let count = producer.abandon()
    outstanding = [:]
    if count > 0 { log.info("records withdrawn from the producer", ["count": "\(count)"]) }
  }

  private func commit() {
    guard queue != nil, let nextOffset, nextOffset != committedOffset else { return }
    do throws(KafkaError) {
      try consumer.commitAsync([CommitRequest(requestsPartition, offset: nextOffset)])
      committedOffset = nextOffset
    } catch {
      log.debug("commit refused; trying again", ["error": "\(error)"])
    }
  }

  // MARK: What is read

  /// Opens the tokens' topic for the owner; should that fail, again a little later. Nothing is minted before it
  /// is read.
  private func openTable(_ now: UInt64) {
    guard queue != nil, table == nil, now >= nextOpening else { return }
    do throws(KafkaError) {
      table = try KafkaTable(
        cluster.configuration, topic: tokensTopic, partitions: cluster.partitions[tokensTopic],
        wakeup: wakeup)
    } catch {
      nextOpening = now + Self.retryMilliseconds
      log.warning("cannot read the tokens' topic; trying again", ["error": "\(error)"])
    }
  }

  private func readTokens() {
    guard let table else { return }
    table.poll(timeoutMilliseconds: 0) { _, value in
      guard let value else { return }
      do throws(RecordError) {
        desk.published(open(try ProviderTokenRecord(value, parser: parser)))
      } catch {
        log.warning("ignoring a provider token record", ["error": "\(error)"])
      }
    }
  }

  /// A token that cannot be opened still counts in its credential's schedule: none is minted early.
  private func open(_ record: ProviderTokenRecord) -> ProviderTokenRecord {
    do throws(TokenSealProblem) {
      return try seal.opened(record)
    } catch {
      counters.add(.unreadableTokens)
      log.error("cannot read a provider token", ["error": "\(error)"])
      return record
    }
  }

  private func readRequests() {
    guard let queue else { return }
    while queue.take(into: &batch, upTo: batch.capacity) > 0 {
      for index in 0..<batch.count {
        let record = batch[index]
        if let error = record.error {
          log.warning("reading requests", ["error": "\(error)"])
        } else {
          take(record.value)
          nextOffset = record.offset + 1
        }
      }
      batch.release()
    }
  }

  private func take(_ value: UnsafeRawBufferPointer) {
    counters.add(.requests)
    do throws(RecordError) {
      let request = try TokenRequest(value, parser: parser)
      guard !desk.requested(request) else { return }
      let who =
        request.credential ?? "\(request.app ?? "")/\(request.environment?.description ?? "")"
      if unknownApps.count < 1_000, unknownApps.insert(who).inserted {
        log.warning("a sender needs a credential that the file does not list", ["for": who])
      }
    } catch {
      counters.add(.badRequests)
      log.warning("ignoring a token request", ["error": "\(error)"])
    }
  }

  // MARK: Minting

  private func mintWhatIsDue(_ now: UInt64) {
    guard let table, table.isCaughtUp, now >= mintNotBefore, !producer.isFull else { return }
    let seconds = WallClock.seconds()
    while let index = desk.due(now: seconds) {
      do throws(SigningError) {
        guard let record = try desk.mint(index, now: seconds) else { return }
        guard publish(record) else {
          desk.answered(record, isStored: false)
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
  func publish(_ record: ProviderTokenRecord) -> Bool {
    do throws(TokenSealProblem) {
      return publish(record.key, try seal.sealed(record).value, record)
    } catch {
      log.error("cannot seal a provider token", ["error": "\(error)"])
      return false
    }
  }

  /// - Returns: false when the record could not be handed over.
  func publish(_ key: [UInt8], _ value: [UInt8]?, _ record: ProviderTokenRecord?) -> Bool {
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
      outstanding[tag] = .some(record)
      return true
    case .full: return false
    case .refused(let error):
      log.error("kafka does not take a provider token", ["error": "\(error)"])
      return false
    }
  }

  private func takeDeliveries(_ now: UInt64) {
    producer.drainDeliveries(into: &deliveries)
    for delivery in deliveries {
      guard let entry = outstanding.removeValue(forKey: delivery.tag), let record = entry else {
        continue
      }
      if let error = delivery.refused {
        desk.answered(record, isStored: false)
        mintNotBefore = now + Self.retryMilliseconds
        log.error("kafka does not take a provider token", ["error": "\(error)"])
        continue
      }
      desk.answered(record, isStored: true)
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
