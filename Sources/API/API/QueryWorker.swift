// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import DeviceTokens
import EventLoop
import HTTPServer
import Identity
import Records
import Schedule
import ServiceKit
import Store
import Waiting

/// Asks the database on a thread of its own: one that does not answer holds up nothing but questions. Keys take turns, so
/// many large questions of one delay another's by one step of each.
final class QueryWorker {
  enum Question: Sendable {
    case device(DeviceKey)
    case invalidTokens(InvalidTokenPage)
    /// The outcomes of a request or a notification, as far as the key may read them; where there is none, what the
    /// schedule has of the request.
    case outcomes(DeviceArguments.Notification, APIKey)
    /// What is known of a user's devices, as far as the key may read them.
    case user(DeviceArguments.User, APIKey)
    /// The devices of a user that the key may send to; they are to be forgotten.
    case forget(DeviceArguments.User, APIKey)
    /// The campaigns whose keys begin so.
    case named(prefix: String)
    case campaigns(CampaignPage)
    /// The first of them, and how many of an app's are not over: one is to be started.
    case start(prefix: String, app: String)

    /// Whether the answer is wrong where devices are missing from the database.
    var isAboutDevices: Bool {
      switch self {
      case .device, .invalidTokens, .user, .forget: true
      case .outcomes, .named, .campaigns, .start: false
      }
    }

    /// Whether the answer is wrong where the schedule is not complete.
    var isAboutCampaigns: Bool {
      switch self {
      case .named, .campaigns, .start: true
      case .device, .invalidTokens, .user, .forget, .outcomes: false
      }
    }

    /// Bytes of its answer, at most, or about.
    var answerBytes: Int {
      switch self {
      case .device, .named, .start: 16 << 10
      case .invalidTokens(let page): page.limit << 10
      case .outcomes, .user, .campaigns: 1 << 20
      case .forget: 256 << 10
      }
    }
  }

  /// The part that asks: each has numbers of its own.
  enum Asker { case devices, campaigns }

  struct Answer: Sendable {
    enum Content: Sendable {
      case response(HTTPResponse)
      /// The devices that are to be forgotten, and what of the schedule is to change with them.
      case erasure([DeviceKey], ScheduleErasure)
      /// Those that were found, without their requests; with `more` there are others behind the last one.
      case campaigns([StoredCampaign], more: Bool)
      case start(known: StoredCampaign?, open: Int)
    }

    let asker: Asker
    let number: UInt64
    /// nil: the database did not answer.
    let content: Content?
  }

  private enum Message: Sendable {
    case question(Job)
    case stop
  }

  /// A question on its way, and what of its answer is known: one about many campaigns takes several turns.
  private struct Job: Sendable {
    let asker: Asker
    let number: UInt64
    let key: ExactText
    let question: Question
    var found = CampaignScan()
  }

  /// The most questions that wait; further ones are refused.
  private static let limit = 256
  /// The most of one key, so that others find a place.
  static let share = 64

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let answers: Mailbox<Answer>
  private var waiting = 0

  /// - Parameters:
  ///   - schedule: the database of the schedule.
  ///   - topic: that of the schedule.
  ///   - wakeup: of the loop that takes the answers.
  init(
    _ location: String, schedule: String, _ topic: String, _ context: ServiceContext,
    wakeup: Wakeup
  ) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers) = (messages, answers)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "queries") {
      Session(location, schedule, StoredInHand(topic, context), context.log)
        .run(poller, messages, answers)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  var isFull: Bool { waiting >= Self.limit }

  func ask(_ number: UInt64, _ question: Question, from asker: Asker, of key: APIKey) {
    waiting += 1
    messages.post(
      .question(Job(asker: asker, number: number, key: key.name, question: question)))
  }

  func drainAnswers() -> [Answer] {
    let taken = answers.drain()
    waiting -= taken.count
    return taken
  }

  /// The state that the thread owns.
  private final class Session {
    private let location: String
    private let scheduleLocation: String
    private let inHand: StoredInHand
    private let log: Logger
    private var queries: TokenQueries?
    private var schedule: ScheduleQueries?
    private var hasFailed = false

    init(_ location: String, _ schedule: String, _ inHand: StoredInHand, _ log: Logger) {
      self.location = location
      scheduleLocation = schedule
      self.inHand = inHand
      self.log = log
    }

    func run(_ poller: Poller, _ messages: Mailbox<Message>, _ answers: Mailbox<Answer>) {
      var ready: [ReadyEvent] = []
      var jobs = Turns<ExactText, Job>()
      while true {
        poller.wait(timeoutMilliseconds: jobs.isEmpty ? 60_000 : 0, into: &ready)
        messages.wakeup.clear()
        for message in messages.drain() {
          guard case .question(let job) = message else { return }
          jobs.add(job, of: job.key)
        }
        guard var job = jobs.next()?.item else { continue }
        if let content = step(&job) {
          answers.post(Answer(asker: job.asker, number: job.number, content: content))
        } else if hasFailed {
          answers.post(Answer(asker: job.asker, number: job.number, content: nil))
        } else {
          jobs.giveBack(job, of: job.key)
        }
      }
    }

    /// - Returns: nil if it is not done, or the database does not answer (`hasFailed`).
    private func step(_ job: inout Job) -> Answer.Content? {
      do throws(StoreError) {
        let content = try askTwice(&job)
        if hasFailed { log.info("the database answers again") }
        hasFailed = false
        return content
      } catch {
        // It is opened again for the next question.
        (queries, schedule) = (nil, nil)
        if !hasFailed { log.error("the database does not answer", ["error": "\(error)"]) }
        hasFailed = true
        return nil
      }
    }

    /// A connection may have been cut while nobody asked, by a restart or an idle limit of the server: what fails on one
    /// that was open is asked again on a new one.
    private func askTwice(_ job: inout Job) throws(StoreError) -> Answer.Content? {
      guard queries != nil || schedule != nil, !hasFailed else { return try ask(&job) }
      do throws(StoreError) {
        return try ask(&job)
      } catch {
        (queries, schedule) = (nil, nil)
        return try ask(&job)
      }
    }

    private func ask(_ job: inout Job) throws(StoreError) -> Answer.Content? {
      if job.question.isAboutCampaigns, let obstacle = try scheduleQueries().obstacle() {
        return .response(Problem.incomplete(obstacle).response)
      }
      switch job.question {
      case .named(let prefix):
        return .campaigns(try campaigns(withPrefix: prefix), more: false)
      case .campaigns(let page):
        guard try scan(&job.found, page) else { return nil }
        return .campaigns(job.found.campaigns, more: job.found.hasMore)
      case .start(let prefix, let app):
        let page = CampaignPage(
          apps: [app.exact], after: "", limit: CampaignRecord.mostOpen, isOpenOnly: true)
        guard try scan(&job.found, page) else { return nil }
        return .start(known: try campaigns(withPrefix: prefix).first, open: job.found.count)
      default: return try ask(job.question)
      }
    }

    /// A question of one step.
    private func ask(_ question: Question) throws(StoreError) -> Answer.Content {
      let queries: TokenQueries
      if let open = self.queries { queries = open } else { queries = try TokenQueries(location) }
      self.queries = queries
      guard question.isAboutDevices else { return try answer(question, queries) }
      let before = try queries.state()
      if let obstacle = before.obstacle { return .response(Problem.incomplete(obstacle).response) }
      let content = try answer(question, queries)
      let after = try queries.state()
      guard before == after else {
        return .response(
          Problem.incomplete(after.obstacle ?? "it was read from the topics anew; ask again")
            .response)
      }
      return content
    }

    private func answer(
      _ question: Question, _ queries: TokenQueries
    ) throws(StoreError) -> Answer.Content {
      switch question {
      case .device(let identity):
        return .response(DeviceAnswers.device(identity, try queries.state(identity)))
      case .invalidTokens(let page):
        return .response(DeviceAnswers.tokens(try queries.invalidTokens(page), page))
      case .outcomes(let notification, let key):
        let found = try queries.outcomes(
          of: notification.id, apps: notification.app.map { [$0.exact] } ?? Self.some(key.readable),
          limit: OutcomeAnswers.limit + 1)
        guard found.isEmpty else { return .response(OutcomeAnswers.outcomes(found)) }
        let keys = notification.scheduled(readable: key.readable)
        let waiting = try scheduled(keys)
        guard waiting.isEmpty else { return .response(OutcomeAnswers.scheduled(waiting)) }
        if !keys.isEmpty, let obstacle = try scheduleQueries().obstacle() {
          return .response(Problem.incomplete(obstacle).response)
        }
        return .response(
          OutcomeAnswers.none(try queries.receiptKeeping(), isScheduleKnown: !keys.isEmpty))
      case .user(let user, let key):
        return .response(DeviceAnswers.devices(try devices(of: user, key.readable, queries)))
      case .forget(let user, let key):
        let devices = try devices(of: user, key.apps, queries).map(\.device)
        let schedule = try scheduleQueries()
        if let obstacle = try schedule.obstacle() {
          return .response(Problem.incomplete(obstacle).response)
        }
        return .erasure(
          devices,
          try ScheduleErasure(
            of: user.name, devices, apps: user.app.map { [$0.exact] } ?? Self.some(key.apps),
            in: schedule
          ))
      case .named, .campaigns, .start: return .campaigns([], more: false)
      }
    }

    private func campaigns(withPrefix prefix: String) throws(StoreError) -> [StoredCampaign] {
      try scheduleQueries().campaigns(withPrefix: prefix).compactMap { read($0) }
    }

    /// Looks through some campaigns.
    ///
    /// - Returns: whether that was all.
    private func scan(
      _ found: inout CampaignScan, _ page: CampaignPage
    ) throws(StoreError) -> Bool {
      let entries = try scheduleQueries().campaigns(
        after: found.last ?? page.after, limit: CampaignScan.step, apps: page.apps)
      for entry in entries {
        let campaign = read(entry)
        guard found.take(campaign, key: entry.key.text, size: entry.value.utf8.count, page) else {
          return true
        }
      }
      return entries.count < CampaignScan.step
    }

    private func read(_ entry: ScheduledEntry) -> StoredCampaign? {
      inHand.work(on: entry.row.identity, key: entry.key.text) {
        CampaignRecord(stored: entry.value).map {
          StoredCampaign($0, key: entry.key.text, identity: entry.row.identity)
        }
      }
    }

    private func scheduleQueries() throws(StoreError) -> ScheduleQueries {
      if let schedule { return schedule }
      let opened = try ScheduleQueries(scheduleLocation)
      schedule = opened
      return opened
    }

    /// What the schedule has of these keys.
    private func scheduled(_ keys: [ScheduleKey]) throws(StoreError) -> [ScheduledEntry] {
      guard !keys.isEmpty else { return [] }
      let queries = try scheduleQueries()
      var entries: [ScheduledEntry] = []
      for key in keys {
        if let entry = try queries.scheduled(key: key.exact) { entries.append(entry) }
      }
      return entries
    }

    /// The devices of a user that belong to one of the apps, with one more than `DeviceAnswers.userLimit` if there are
    /// more.
    private func devices(
      of user: DeviceArguments.User, _ apps: Set<ExactText>, _ queries: TokenQueries
    ) throws(StoreError) -> [KnownDevice] {
      try queries.devices(
        ofUser: user.name, apps: user.app.map { [$0.exact] } ?? Self.some(apps),
        limit: DeviceAnswers.userLimit + 1)
    }

    /// nil for all apps.
    private static func some(_ apps: Set<ExactText>) -> Set<ExactText>? {
      apps.contains("*") ? nil : apps
    }
  }
}
