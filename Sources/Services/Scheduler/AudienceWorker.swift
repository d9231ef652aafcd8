// SPDX-License-Identifier: Apache-2.0
import Bytes
import Contract
import EventLoop
import Records
import Schedule
import Store

/// Asks the database of device tokens about audiences on a thread of its own: to look through millions of devices takes
/// seconds, and what is due does not wait for them.
final class AudienceWorker {
  enum Question: Sendable {
    case count
    case waves(CampaignPlan.LocalTime)
    /// With `zones` only those in them.
    case devices(in: CampaignWave.Zones?, after: String, limit: Int)
  }

  enum Answer: Sendable {
    case count(Int)
    case waves([CampaignWave])
    case devices(AudiencePage, limit: Int)
    /// The database does not answer, or the default zone is not known; and why.
    case none(String)
  }

  /// The campaign that asks, and the number of its run.
  struct Asker: Sendable, Hashable {
    let name: String
    let run: Int
  }

  private enum Message: Sendable {
    case question(Asker, Audience, Question)
    case stop
  }

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let answers: Mailbox<(Asker, Answer)>

  /// - Parameter wakeup: of the loop that takes the answers.
  init(_ location: String, wakeup: Wakeup) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers) = (messages, answers)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "audiences") {
      Session(location).run(poller, messages, answers)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  func ask(_ asker: Asker, _ audience: Audience, _ question: Question) {
    messages.post(.question(asker, audience, question))
  }

  func drainAnswers() -> [(Asker, Answer)] { answers.drain() }

  /// The state that the thread owns.
  private final class Session {
    private let location: String
    private var reader: AudienceReader?

    init(_ location: String) { self.location = location }

    func run(
      _ poller: Poller, _ messages: Mailbox<Message>, _ answers: Mailbox<(Asker, Answer)>
    ) {
      var ready: [ReadyEvent] = []
      while true {
        poller.wait(timeoutMilliseconds: 60_000, into: &ready)
        messages.wakeup.clear()
        for message in messages.drain() {
          guard case .question(let asker, let audience, let question) = message else { return }
          answers.post((asker, answer(question, audience)))
        }
      }
    }

    private func answer(_ question: Question, _ audience: Audience) -> Answer {
      do throws(StoreError) {
        let open: AudienceReader
        if let reader { open = reader } else { open = try AudienceReader(location) }
        reader = open
        switch question {
        case .count: return .count(try open.count(audience))
        case .waves(let local):
          let waves = local.waves(try open.zones(audience), rules: ZoneFile.rules)
          return waves.map { .waves($0) }
            ?? .none("time zone \(local.zone) is not known: install tzdata")
        case .devices(let zones, let token, let limit):
          let page = try open.devices(audience, in: zones, after: token, limit: limit)
          return .devices(page, limit: limit)
        }
      } catch {
        // It is opened again for the next question.
        reader = nil
        return .none("\(error)")
      }
    }
  }
}
