// SPDX-License-Identifier: Apache-2.0
import Access
import Contract
import EventLoop
import HTTPServer
import ServiceKit
import Store
import Waiting

struct Query: Sendable {
  /// Reads from the database, on its thread.
  typealias Read = @Sendable (Databases) throws(StoreError) -> Found

  enum Found: Sendable {
    case next(APIRoute.Handler)
    /// There is more to read, once others have had their turn.
    case unfinished(Read)

    static func answer(_ response: HTTPResponse) -> Found { .next { _ in .answer(response) } }

    /// A refusal of the step, not an answer: a change that Kafka has by then is not refused.
    static func incomplete(_ obstacle: String) -> Found {
      .next { _ throws(Problem) in throw .incomplete(obstacle) }
    }
  }

  /// The data that must be complete for a correct answer.
  struct Basis: OptionSet {
    let rawValue: UInt8

    /// All devices of the topics.
    static let devices = Basis(rawValue: 1)
    /// The whole schedule.
    static let schedule = Basis(rawValue: 2)
  }

  let basis: Basis
  /// The most bytes of its answer, approximately.
  let answerBytes: Int
  let read: Read

  init(_ basis: Basis, answerBytes: Int, _ read: @escaping Read) {
    (self.basis, self.answerBytes, self.read) = (basis, answerBytes, read)
  }
}

/// Queries the database on a thread of its own: a database that does not answer delays only queries. Keys take turns,
/// so that many large queries of one key delay another's by one step each.
final class QueryWorker {
  struct Answer: Sendable {
    let number: UInt64
    /// The next step; nil if the database did not answer.
    let next: APIRoute.Handler?
  }

  private enum Message: Sendable {
    case question(Job)
    case stop
  }

  /// A query in progress; one about many campaigns takes several turns.
  private struct Job: Sendable {
    let number: UInt64
    let key: ExactText
    let basis: Query.Basis
    var read: Query.Read
  }

  /// The most waiting queries; further ones are refused.
  private static let limit = 256
  /// The most waiting queries of one key, so that others have room.
  static let share = 64

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let answers: Mailbox<Answer>
  private var waiting = 0

  /// - Parameters:
  ///   - schedule: the database of the schedule.
  ///   - topic: the topic of the schedule.
  ///   - wakeup: the wakeup of the loop that takes the answers.
  init(
    _ location: String, schedule: String, _ topic: String, _ context: ServiceContext, wakeup: Wakeup
  ) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers) = (messages, answers)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "queries") {
      let databases = Databases(location, schedule, StoredInHand(topic, context))
      Session(databases, context.log).run(poller, messages, answers)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  var isFull: Bool { waiting >= Self.limit }

  func ask(_ number: UInt64, _ query: Query, of key: APIKey) {
    waiting += 1
    messages.post(
      .question(Job(number: number, key: key.name, basis: query.basis, read: query.read)))
  }

  func drainAnswers() -> [Answer] {
    let taken = answers.drain()
    waiting -= taken.count
    return taken
  }

  /// The state that the thread owns.
  private final class Session {
    private let databases: Databases
    private let log: Logger
    private var hasFailed = false

    init(_ databases: Databases, _ log: Logger) { (self.databases, self.log) = (databases, log) }

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
        switch step(job) {
        case .unfinished(let rest):
          job.read = rest
          jobs.giveBack(job, of: job.key)
        case .next(let next): answers.post(Answer(number: job.number, next: next))
        case nil: answers.post(Answer(number: job.number, next: nil))
        }
      }
    }

    /// - Returns: nil if the database does not answer.
    private func step(_ job: Job) -> Query.Found? {
      do throws(StoreError) {
        let found = try askTwice(job)
        if hasFailed { log(APILog.databaseAnswers) }
        hasFailed = false
        return found
      } catch {
        // The next query opens it again.
        databases.close()
        if !hasFailed { log(APILog.databaseSilent, ["error": "\(error)"]) }
        hasFailed = true
        return nil
      }
    }

    /// A restart or an idle timeout of the server may have closed the connection unnoticed: a query that fails on an
    /// open connection is repeated on a new one, unless it has taken all the time that a query may.
    private func askTwice(_ job: Job) throws(StoreError) -> Query.Found {
      guard databases.areOpen, !hasFailed else { return try ask(job) }
      do throws(StoreError) {
        return try ask(job)
      } catch {
        guard !error.isTimeout else { throw error }
        databases.close()
        return try ask(job)
      }
    }

    private func ask(_ job: Job) throws(StoreError) -> Query.Found {
      try databases.read(job.basis, job.read)
    }
  }
}

/// The databases of the queries, opened on demand. They belong to one thread.
final class Databases {
  private let location: String
  private let scheduleLocation: String
  let inHand: StoredInHand
  private var openTokens: TokenQueries?
  private var openSchedule: ScheduleQueries?

  init(_ location: String, _ schedule: String, _ inHand: StoredInHand) {
    (self.location, scheduleLocation, self.inHand) = (location, schedule, inHand)
  }

  var areOpen: Bool { openTokens != nil || openSchedule != nil }

  func close() { (openTokens, openSchedule) = (nil, nil) }

  func tokens() throws(StoreError) -> TokenQueries {
    if let openTokens { return openTokens }
    let opened = try TokenQueries(location)
    openTokens = opened
    return opened
  }

  func schedule() throws(StoreError) -> ScheduleQueries {
    if let openSchedule { return openSchedule }
    let opened = try ScheduleQueries(scheduleLocation)
    openSchedule = opened
    return opened
  }

  /// Reads; the result is the obstacle if the basis is not complete before and after it.
  func read(_ basis: Query.Basis, _ read: Query.Read) throws(StoreError) -> Query.Found {
    let before = basis.contains(.devices) ? try tokens().state() : nil
    if let obstacle = before?.obstacle { return .incomplete(obstacle) }
    if let obstacle = try scheduleObstacle(basis) { return .incomplete(obstacle) }
    let found = try read(self)
    if let obstacle = try scheduleObstacle(basis) { return .incomplete(obstacle) }
    guard let before else { return found }
    let after = try tokens().state()
    guard before == after else {
      return .incomplete(after.obstacle ?? "it was read from the topics anew; ask again")
    }
    return found
  }

  /// The entries of these keys in the schedule, and the obstacle if it was not complete before and after the look-up.
  func scheduled(
    _ keys: some Sequence<ExactText>
  ) throws(StoreError) -> (found: [ScheduledEntry], obstacle: String?) {
    let queries = try schedule()
    let before = try queries.obstacle()
    var found: [ScheduledEntry] = []
    for key in keys {
      if let entry = try queries.scheduled(key: key) { found.append(entry) }
    }
    let after = try queries.obstacle()
    return (found, before ?? after)
  }

  private func scheduleObstacle(_ basis: Query.Basis) throws(StoreError) -> String? {
    basis.contains(.schedule) ? try schedule().obstacle() : nil
  }
}
