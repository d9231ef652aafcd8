// SPDX-License-Identifier: Apache-2.0
import Bytes
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import Schedule
import Store
import Synchronization

/// Looks audiences up, in the database of device tokens or on topics, on a thread of its own: to look through millions of
/// devices takes seconds, and what is due does not wait for them.
final class AudienceWorker {
  enum Question: Sendable {
    case count
    case waves(CampaignPlan.LocalTime)
    /// With `zones` only those in them.
    case devices(in: CampaignWave.Zones?, after: String, limit: Int)
  }

  enum Answer: Sendable {
    case count(TokenTopicReader.Count)
    case waves(Zones)
    case devices(AudiencePage, limit: Int)
    /// The database or Kafka does not answer, or the default zone is not known; and why.
    case none(String)
  }

  /// The waves of an audience, and what its devices name that is no zone here.
  struct Zones: Sendable {
    var waves: [CampaignWave]
    var unknown: [String] = []
    var devicesWithoutZone = 0
  }

  /// The campaign that asks, the number of its run, and when it was started, in milliseconds since the epoch.
  struct Asker: Sendable, Hashable {
    let name: String
    let run: Int
    let startedAt: Int64
  }

  private enum Message: Sendable {
    case question(Asker, Audience, Question)
    case stop
  }

  private final class Flags: Sendable {
    let isStopping = Atomic(false)
    let hasEnded = Atomic(false)
  }

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let answers: Mailbox<(Asker, Answer)>
  private let flags = Flags()

  /// - Parameter wakeup: of the loop that takes the answers.
  init(
    _ location: String, _ kafka: KafkaConfiguration, wakeup: Wakeup
  ) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers, flags) = (messages, answers, flags)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "audiences") {
      let tokens = TokenTopicReader(kafka) { flags.isStopping.load(ordering: .relaxed) }
      Session(location, tokens).run(poller, messages, answers)
      tokens.close()
      flags.hasEnded.store(true, ordering: .releasing)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  /// Ends the thread, if it can within a second.
  func close() {
    flags.isStopping.store(true, ordering: .relaxed)
    messages.post(.stop)
    let deadline = MonotonicClock.milliseconds() + 1_000
    while !flags.hasEnded.load(ordering: .acquiring), MonotonicClock.milliseconds() < deadline {
      usleep(1_000)
    }
  }

  func ask(_ asker: Asker, _ audience: Audience, _ question: Question) {
    messages.post(.question(asker, audience, question))
  }

  func drainAnswers() -> [(Asker, Answer)] { answers.drain() }

  /// The state that the thread owns.
  private final class Session {
    private let location: String
    private let tokens: TokenTopicReader
    private var reader: AudienceReader?

    init(_ location: String, _ tokens: TokenTopicReader) {
      (self.location, self.tokens) = (location, tokens)
    }

    func run(
      _ poller: Poller, _ messages: Mailbox<Message>, _ answers: Mailbox<(Asker, Answer)>
    ) {
      var ready: [ReadyEvent] = []
      while true {
        poller.wait(timeoutMilliseconds: 60_000, into: &ready)
        messages.wakeup.clear()
        let waiting = messages.drain()
        if waiting.isEmpty { tokens.close() }
        for message in waiting {
          guard case .question(let asker, let audience, let question) = message else { return }
          answers.post((asker, answer(question, audience, asker)))
        }
      }
    }

    private func answer(_ question: Question, _ audience: Audience, _ asker: Asker) -> Answer {
      if let topic = audience.tokenTopic {
        return answer(question, TokenTopicReader.Source(topic: topic, campaign: asker))
      }
      do throws(StoreError) {
        let open: AudienceReader
        if let reader { open = reader } else { open = try AudienceReader(location) }
        reader = open
        switch question {
        case .count: return .count(.init(tokens: try open.count(audience)))
        case .waves(let local):
          return waves(local, zones: try open.zones(audience))
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

    private func waves(
      _ local: CampaignPlan.LocalTime, zones: [AudienceReader.ZoneCount]
    ) -> Answer {
      let names = zones.map(\.zone)
      guard let waves = local.waves(names, rules: { ZoneFile.rules(of: $0) }) else {
        return .none("time zone \(local.zone) is not known: install tzdata")
      }
      let unknown = zones.filter { ZoneFile.rules(of: $0.zone) == nil }
      return .waves(
        Zones(
          waves: waves, unknown: unknown.map(\.zone),
          devicesWithoutZone: unknown.reduce(0) { $0 + $1.devices }))
    }

    private func answer(_ question: Question, _ source: TokenTopicReader.Source) -> Answer {
      do throws(KafkaError) {
        switch question {
        case .count: return .count(try tokens.count(source))
        // Nothing is known of where the devices are.
        case .waves(let local): return waves(local, zones: [])
        case .devices(_, let place, let limit):
          return .devices(try tokens.page(source, after: place, limit: limit), limit: limit)
        }
      } catch {
        return .none("\(error)")
      }
    }
  }
}
