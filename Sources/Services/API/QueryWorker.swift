// SPDX-License-Identifier: Apache-2.0
import APNS
import Access
import Bytes
import EventLoop
import HTTPServer
import Records
import ServiceKit
import Store

/// Asks the database on a thread of its own: one that does not answer holds up nothing but questions.
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
    /// The campaigns whose keys begin so; nil: all that the schedule has.
    case campaigns(withPrefix: String?)
  }

  /// The part that asks: each has numbers of its own.
  enum Asker { case devices, campaigns }

  struct Answer: Sendable {
    enum Content: Sendable {
      case response(HTTPResponse)
      case devices([DeviceKey])
      case campaigns([CampaignRecord])
    }

    let asker: Asker
    let number: UInt64
    /// nil: the database did not answer.
    let content: Content?
  }

  private enum Message: Sendable {
    case question(Asker, UInt64, Question)
    case stop
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
  ///   - wakeup: of the loop that takes the answers.
  init(
    _ location: String, schedule: String, _ log: Logger, wakeup: Wakeup
  ) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers) = (messages, answers)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "queries") {
      Session(location, schedule, log).run(poller, messages, answers)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  var isFull: Bool { waiting >= Self.limit }

  func ask(_ number: UInt64, _ question: Question, from asker: Asker) {
    waiting += 1
    messages.post(.question(asker, number, question))
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
    private let log: Logger
    private var queries: TokenQueries?
    private var schedule: ScheduleQueries?
    private var hasFailed = false

    init(_ location: String, _ schedule: String, _ log: Logger) {
      self.location = location
      scheduleLocation = schedule
      self.log = log
    }

    func run(_ poller: Poller, _ messages: Mailbox<Message>, _ answers: Mailbox<Answer>) {
      var ready: [ReadyEvent] = []
      while true {
        poller.wait(timeoutMilliseconds: 60_000, into: &ready)
        messages.wakeup.clear()
        for message in messages.drain() {
          guard case .question(let asker, let number, let question) = message else { return }
          answers.post(Answer(asker: asker, number: number, content: answer(question)))
        }
      }
    }

    private func answer(_ question: Question) -> Answer.Content? {
      do throws(StoreError) {
        let content = try ask(question)
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

    private func ask(_ question: Question) throws(StoreError) -> Answer.Content {
      if case .campaigns(let prefix) = question { return .campaigns(try campaigns(prefix)) }
      let queries: TokenQueries
      if let open = self.queries { queries = open } else { queries = try TokenQueries(location) }
      self.queries = queries
      switch question {
      case .device(let identity):
        return .response(DeviceAnswers.device(identity, try queries.state(identity)))
      case .invalidTokens(let page):
        return .response(DeviceAnswers.tokens(try queries.invalidTokens(page), page))
      case .outcomes(let notification, let key):
        let found = try queries.outcomes(
          of: notification.id, apps: notification.app.map { [$0] } ?? Self.some(key.readable),
          limit: OutcomeAnswers.limit + 1)
        guard found.isEmpty else { return .response(OutcomeAnswers.outcomes(found)) }
        let keys = notification.scheduled(readable: key.readable)
        let waiting = try scheduled(keys)
        guard waiting.isEmpty else { return .response(OutcomeAnswers.scheduled(waiting)) }
        return .response(
          OutcomeAnswers.none(try queries.receiptKeeping(), isScheduleKnown: !keys.isEmpty))
      case .user(let user, let key):
        return .response(DeviceAnswers.devices(try devices(of: user, key.readable, queries)))
      case .forget(let user, let key):
        return .devices(try devices(of: user, key.apps, queries).map(\.device))
      case .campaigns: return .campaigns([])
      }
    }

    private func campaigns(_ prefix: String?) throws(StoreError) -> [CampaignRecord] {
      let queries = try scheduleQueries()
      guard let prefix else { return CampaignRecord.all(in: try queries.campaigns().map(\.value)) }
      return CampaignRecord.all(in: try queries.campaigns(withPrefix: prefix).map(\.value))
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
        if let entry = try queries.scheduled(key: key.description) { entries.append(entry) }
      }
      return entries
    }

    /// The devices of a user that belong to one of the apps, with one more than `DeviceAnswers.userLimit` if there are
    /// more.
    private func devices(
      of user: DeviceArguments.User, _ apps: Set<String>, _ queries: TokenQueries
    ) throws(StoreError) -> [KnownDevice] {
      try queries.devices(
        ofUser: user.name, apps: user.app.map { [$0] } ?? Self.some(apps),
        limit: DeviceAnswers.userLimit + 1)
    }

    /// nil for all apps.
    private static func some(_ apps: Set<String>) -> Set<String>? {
      apps.contains("*") ? nil : apps
    }
  }
}
