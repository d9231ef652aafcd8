// SPDX-License-Identifier: Apache-2.0
import Access
import Bytes
import EventLoop
import HTTPServer
import ServiceKit
import Store

/// Asks the database on a thread of its own: one that does not answer holds up nothing but questions.
final class QueryWorker {
  enum Question: Sendable {
    case device(DeviceIdentity)
    case invalidTokens(InvalidTokenPage)
    /// The outcomes of a request or a notification, as far as the key may read them.
    case outcomes(id: String, APIKey)
  }

  struct Answer: Sendable {
    let number: UInt64
    /// nil: the database did not answer.
    let response: HTTPResponse?
  }

  private enum Message: Sendable {
    case question(UInt64, Question)
    case stop
  }

  /// The most questions that wait; further ones are refused.
  private static let limit = 256
  /// The most of one key, so that others find a place.
  static let share = 64

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let answers: Mailbox<Answer>
  private var waiting = 0

  /// - Parameter wakeup: of the loop that takes the answers.
  init(_ location: String, _ log: Logger, wakeup: Wakeup) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers) = (messages, answers)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "queries") {
      Session(location, log).run(poller, messages, answers)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  var isFull: Bool { waiting >= Self.limit }

  func ask(_ number: UInt64, _ question: Question) {
    waiting += 1
    messages.post(.question(number, question))
  }

  func drainAnswers() -> [Answer] {
    let taken = answers.drain()
    waiting -= taken.count
    return taken
  }

  /// The state that the thread owns.
  private final class Session {
    private let location: String
    private let log: Logger
    private var queries: TokenQueries?
    private var hasFailed = false

    init(_ location: String, _ log: Logger) {
      self.location = location
      self.log = log
    }

    func run(_ poller: Poller, _ messages: Mailbox<Message>, _ answers: Mailbox<Answer>) {
      var ready: [ReadyEvent] = []
      while true {
        poller.wait(timeoutMilliseconds: 60_000, into: &ready)
        messages.wakeup.clear()
        for message in messages.drain() {
          guard case .question(let number, let question) = message else { return }
          answers.post(Answer(number: number, response: answer(question)))
        }
      }
    }

    private func answer(_ question: Question) -> HTTPResponse? {
      do throws(StoreError) {
        let response = try ask(question)
        if hasFailed { log.info("the database answers again") }
        hasFailed = false
        return response
      } catch {
        // It is opened again for the next question.
        queries = nil
        if !hasFailed { log.error("the database does not answer", ["error": "\(error)"]) }
        hasFailed = true
        return nil
      }
    }

    private func ask(_ question: Question) throws(StoreError) -> HTTPResponse {
      let queries: TokenQueries
      if let open = self.queries { queries = open } else { queries = try TokenQueries(location) }
      self.queries = queries
      switch question {
      case .device(let identity):
        return DeviceAnswers.device(identity, try queries.state(identity))
      case .invalidTokens(let page):
        return DeviceAnswers.tokens(try queries.invalidTokens(page), page)
      case .outcomes(let id, let key):
        let limit = OutcomeAnswers.limit
        let apps = key.readable.contains("*") ? nil : key.readable
        let found = try queries.outcomes(of: id, apps: apps, limit: limit + 1)
        guard found.isEmpty else { return OutcomeAnswers.outcomes(found) }
        return OutcomeAnswers.none(try queries.receiptKeeping())
      }
    }
  }
}
