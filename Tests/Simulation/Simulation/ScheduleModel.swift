// SPDX-License-Identifier: Apache-2.0
import Contract
import ScheduleDecisions
import SenderDecisions
import Waiting

/// A request with a time, and what became of it. Times are milliseconds since the epoch, by a true clock.
struct ScheduledWork {
  let request: Request
  let sendAt: Int64
  /// The time at which its cancellation was stored.
  var cancelledAt: Int64?
  /// The first release by a process whose clock was ahead.
  var earlyAt: Int64?
  /// Records that the schedule has released.
  var releases = 0
  /// Ingest has made its notifications.
  var isMade = false

  /// True if it was cancelled so early that it may not be sent.
  var isCalledOff: Bool {
    guard let cancelledAt, cancelledAt <= sendAt - ScheduleModel.notice else { return false }
    return earlyAt.map { $0 > cancelledAt } ?? true
  }
}

/// A campaign, and what became of it.
struct CampaignModel {
  static let pageSize = 1

  let plan: CampaignPlan
  let app: UInt64
  let devices: [UInt64]
  /// Its notifications stand in a row, in the order of the devices.
  let first: Int
  /// The pace of its pushes, in a millisecond: so far ahead it addresses. Senders keep none.
  var pace: Double?
  /// An operator has cancelled it.
  var isCancelled = false
  /// The progress of its record that counts.
  var progress = CampaignProgress()
  /// Devices whose requests Kafka has.
  var stored: Set<Int> = []
  /// Devices up to the last one that has ever been addressed.
  var reached = 0
}

/// The topic of the schedule, its views, and what is known of the requests and campaigns in it.
struct ScheduleModel {
  /// Campaigns whose pushes senders do not send.
  private(set) var holds = CampaignHolds()
  enum Value: Equatable {
    case request(work: Int, accepted: Int64, requeuedAt: Int64?)
    case cancellation(at: Int64)
    case campaign(Int, CampaignProgress)

    /// The record's value.
    var text: String {
      switch self {
      case .request(let work, let accepted, let requeuedAt):
        "\(work) \(accepted) \(requeuedAt ?? 0)"
      case .cancellation(let at): "cancelled \(at)"
      case .campaign(let number, let progress): "campaign \(number) \(progress)"
      }
    }

    /// A request.
    init?(text: String) {
      let numbers = text.split(separator: " ").compactMap { Int64($0) }
      guard numbers.count == 3 else { return nil }
      self = .request(
        work: Int(numbers[0]), accepted: numbers[1], requeuedAt: numbers[2] == 0 ? nil : numbers[2])
    }

    var identity: Int64 { ScheduleRow.identity(of: text.utf8) }
  }

  struct Record {
    let key: String
    /// nil: a tombstone.
    let value: Value?
    /// The identity of the value that the tombstone ends.
    var ends: Int64?
    /// Compaction has dropped it.
    var isGone = false
  }

  /// A request that is cancelled so long before its time is never sent, in milliseconds.
  static let notice: Int64 = 2_000
  static let partitions = 3

  /// Random numbers of its own: a run without a scheduler is as it was before there was one.
  var chance: SeededGenerator
  var isOn = false
  private(set) var logs: [[Record]] = Array(repeating: [], count: partitions)
  /// The tombstones of a value and when they were stored, by partition and the value's identity.
  private var tombstones: [[Int64: [(offset: Int64, at: Int64)]]] = Array(
    repeating: [:], count: partitions)
  private var viewed: [Int64] = Array(repeating: 0, count: partitions)
  private(set) var works: [ScheduledWork] = []
  private(set) var campaigns: [CampaignModel] = []
  /// One for both processes, or one for each.
  var databases: [ScheduleDatabase]

  init(seed: UInt64) {
    chance = SeededGenerator(seed: seed ^ 0x5C4E_D01E)
    databases = Array(repeating: ScheduleDatabase(), count: chance.oneIn(2) ? 1 : 2)
  }

  static func partition(_ number: Int) -> Int { number % partitions }
  static func key(ofWork number: Int) -> String { "request \(number)" }
  static func key(ofCampaign number: Int) -> String { "campaign \(number)" }

  func end(_ partition: Int) -> Int64 { Int64(logs[partition].count) }
  subscript(_ partition: Int, _ offset: Int64) -> Record { logs[partition][Int(offset)] }

  // MARK: Records

  mutating func append(
    _ record: Record, to partition: Int, at wall: Int64, _ kafka: inout KafkaModel
  ) {
    kafka.note(
      "schedule \(partition)/\(end(partition)): \(record.key), \(record.value?.text ?? "end")")
    if let identity = record.ends {
      tombstones[partition][identity, default: []].append((end(partition), wall))
    }
    if case .campaign(let number, let progress) = record.value,
      progress.revision > campaigns[number].progress.revision
    {
      campaigns[number].progress = progress
    }
    logs[partition].append(record)
  }

  /// True if a value had its tombstone before a time.
  func isEnded(_ row: ScheduleRow, in partition: Int, before time: Int64) -> Bool {
    tombstones[partition][row.identity]?.contains { $0.offset > row.offset && $0.at < time }
      ?? false
  }

  /// A partition's topic is made anew, without a record; the database has all that the old one had.
  mutating func makeAnew(_ partition: Int) {
    (logs[partition], tombstones[partition], viewed[partition]) = ([], [:], 0)
  }

  /// Compaction drops records that have a newer one with their key. It never overtakes what the group has committed.
  mutating func compact(_ partition: Int, below committed: Int64) {
    var newer: Set<String> = []
    for offset in (0..<min(committed, end(partition))).reversed() {
      let record = logs[partition][Int(offset)]
      if !newer.insert(record.key).inserted { logs[partition][Int(offset)].isGone = true }
    }
  }

  /// A view has taken everything below an offset.
  mutating func viewed(_ partition: Int, to offset: Int64) {
    viewed[partition] = max(viewed[partition], offset)
  }

  /// Everything that a group has committed has been in a view.
  func verify(_ partition: Int, _ offset: Int64, _ kafka: inout KafkaModel) {
    if offset > viewed[partition] {
      kafka.fail("offset \(offset) of the schedule's partition \(partition) is in no database")
    }
  }

  // MARK: Applications and operators

  /// - Returns: the request as its application writes it.
  mutating func add(_ request: Request, sendAt: Int64) -> Request {
    var request = request
    request.schedule = .init(work: works.count, sendAt: sendAt, written: request.created)
    works.append(ScheduledWork(request: request, sendAt: sendAt))
    return request
  }

  mutating func cancel(_ number: Int, at wall: Int64, _ kafka: inout KafkaModel) {
    works[number].cancelledAt = works[number].cancelledAt ?? wall
    append(
      Record(key: Self.key(ofWork: number), value: .cancellation(at: wall)),
      to: Self.partition(number), at: wall, &kafka)
  }

  mutating func start(_ campaign: CampaignModel, at wall: Int64, _ kafka: inout KafkaModel) {
    let number = campaigns.count
    campaigns.append(campaign)
    append(
      Record(key: Self.key(ofCampaign: number), value: .campaign(number, campaign.progress)),
      to: Self.partition(number), at: wall, &kafka)
  }

  mutating func cancel(campaign number: Int) {
    campaigns[number].isCancelled = true
    hold(campaign: number)
  }

  /// Senders end what a campaign has addressed and they have not sent.
  mutating func hold(campaign number: Int) {
    holds.set(Self.hash(ofCampaign: number), .cancelled, at: Int64(number))
  }

  /// As senders know it.
  static func hash(ofCampaign number: Int) -> UInt64 {
    CampaignHolds.hash(app: 0, .production, name: UInt64(number))
  }

  /// True while pages of a campaign are on their way.
  var isAddressing: Bool { campaigns.contains { $0.progress.state == .running } }

  // MARK: Rules

  /// A process releases a request.
  ///
  /// - Parameters:
  ///   - clock: that of the process.
  ///   - since: when the process took the partition over.
  mutating func released(
    _ number: Int, _ row: ScheduleRow, clock: Int64, since: Int64, wall: Int64,
    _ kafka: inout KafkaModel
  ) {
    let work = works[number]
    if clock < work.sendAt { kafka.fail("request \(number) is released before its time") }
    if clock > wall + SendTime.tolerance {
      // What it has read until then is not what it thinks: ingest hands it back.
      if wall < work.sendAt { works[number].earlyAt = min(work.earlyAt ?? .max, wall) }
    } else if work.isCalledOff {
      kafka.fail("request \(number) is released and was cancelled in time")
    }
    if isEnded(row, in: Self.partition(number), before: since) {
      kafka.fail("request \(number) is released again, although its end was there to be read")
    }
  }

  /// A released request is stored on the topic of requests: one that was there before is excused.
  mutating func stored(_ number: Int, _ kafka: inout KafkaModel) {
    works[number].releases += 1
    guard works[number].releases > 1 else { return }
    let request = works[number].request
    for notification in request.first..<request.first + request.devices.count {
      kafka.notifications[notification].excusable += 1
    }
  }

  /// Ingest makes the notifications of a request.
  mutating func made(_ number: Int, wall: Int64, _ kafka: inout KafkaModel) {
    works[number].isMade = true
    let work = works[number]
    if wall < work.sendAt - SendTime.tolerance {
      kafka.fail("request \(number) is sent \(work.sendAt - wall) ms before its time")
    }
    if work.isCalledOff { kafka.fail("request \(number) is sent and was cancelled in time") }
  }

  /// A page of a campaign is stored on the topic of requests.
  mutating func stored(_ number: Int, _ page: Range<Int>, _ kafka: inout KafkaModel) {
    for device in page where !campaigns[number].stored.insert(device).inserted {
      kafka.notifications[campaigns[number].first + device].excusable += 1
    }
    campaigns[number].reached = max(campaigns[number].reached, page.upperBound)
  }

  // MARK: The end

  /// True if everything was sent that is to be, each campaign is over, and a topic has what a database has.
  var isSettled: Bool {
    works.allSatisfy { $0.isMade || $0.cancelledAt != nil }
      && !databases.contains { $0.hasUnwritten }
      && campaigns.allSatisfy { $0.progress.state.isOver }
  }

  /// The rest, in words.
  var unfinished: String {
    let left = works.indices.filter { !works[$0].isMade && works[$0].cancelledAt == nil }
    let open = campaigns.filter { !$0.progress.state.isOver }.map(\.progress)
    let rows = left.prefix(5).map { number in
      databases.map { $0.entries[Self.partition(number)][Self.key(ofWork: number)]?.row }
    }
    return "requests \(left.prefix(5)) wait for their time, \(rows), campaigns \(open)"
  }

  /// Notifications of which nothing has to become: they were cancelled, or their campaign ended before them.
  var excused: Set<Int> {
    var excused: Set<Int> = []
    for work in works where work.cancelledAt != nil {
      excused.formUnion(work.request.first..<work.request.first + work.request.devices.count)
    }
    for campaign in campaigns where campaign.progress.state != .done {
      for device in campaign.devices.indices where !campaign.stored.contains(device) {
        excused.insert(campaign.first + device)
      }
    }
    return excused
  }
}

/// A scheduler's database: its view of the topic.
struct ScheduleDatabase {
  struct Entry {
    var row: ScheduleRow
    let value: ScheduleModel.Value
  }

  /// By partition and key.
  var entries: [[String: Entry]] = Array(repeating: [:], count: ScheduleModel.partitions)
  var positions: [Int64?] = Array(repeating: nil, count: ScheduleModel.partitions)
  /// It does not answer until then (monotonic milliseconds).
  var downUntil: UInt64 = 0

  mutating func startOver(_ partition: Int) {
    entries[partition] = entries[partition].filter { $0.value.row.offset < 0 }
    positions[partition] = nil
  }

  /// The topic was made anew: what is here is on no topic.
  mutating func renew(_ partition: Int) {
    for key in entries[partition].keys { entries[partition][key]!.row.offset = -1 }
    positions[partition] = 0
  }

  /// True if there are entries that are on no topic.
  var hasUnwritten: Bool { entries.contains { $0.contains { $0.value.row.offset < 0 } } }

  /// The first entry behind a key that is on no topic.
  func unwritten(_ partition: Int, after key: String) -> (key: String, entry: Entry)? {
    let found = entries[partition].filter { $0.value.row.offset < 0 && $0.key > key }
    return found.min { $0.key < $1.key }.map { ($0.key, $0.value) }
  }

  /// Entries that are on the topic, are due until a time and follow a place, in their order.
  func due(
    _ partition: Int, after: SchedulerModel.Machine.Place, through: Int64, limit: Int
  ) -> [(key: String, entry: Entry)] {
    let found = entries[partition].filter { key, entry in
      entry.row.offset >= 0 && entry.row.due <= through
        && (after.due, after.key.text) < (entry.row.due, key)
    }
    let sorted = found.sorted { ($0.value.row.due, $0.key) < ($1.value.row.due, $1.key) }
    return sorted.prefix(limit).map { ($0.key, $0.value) }
  }
}
