// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import Kafka
import Records
import Store
import Synchronization
import Waiting

/// Looks up audiences, in the device token database or on topics, on a thread of its own: scanning millions of devices
/// takes seconds, and due requests must not wait for it. Apps take turns: one whose campaigns have large topics delays
/// another's by `turn` each time.
final class AudienceWorker {
  enum Question: Sendable {
    case count
    case waves(CampaignPlan.LocalTime)
    /// With `zones`, only devices in those zones.
    case devices(in: CampaignWave.Zones?, after: String, limit: Int)
  }

  enum Answer: Sendable {
    case count(TokenTopicReader.Count)
    case waves(Zones)
    case devices(AudiencePage, limit: Int)
    /// The database or Kafka does not answer, or the default zone is unknown; with the reason.
    case none(String)
  }

  /// The waves of an audience, and zone names of its devices that are unknown here.
  struct Zones: Sendable {
    var waves: [CampaignWave]
    var unknown: [String] = []
    var devicesWithoutZone = 0
  }

  /// The campaign that asks, its run's number, and when it was started, in milliseconds since the epoch.
  struct Asker: Sendable, Hashable {
    let campaign: CampaignKey
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

  /// The time slice of a topic, in milliseconds. A question to the database is one slice, however long it takes.
  private static let turn: UInt64 = 200

  private let messages = Mailbox<Message>(wakeup: Wakeup())
  private let answers: Mailbox<(Asker, Answer)>
  private let flags = Flags()

  /// - Parameter wakeup: the wakeup of the loop that takes the answers.
  init(
    _ location: String, _ topics: AudienceTopics, _ kafka: KafkaConfiguration, wakeup: Wakeup
  ) throws(SystemError) {
    answers = Mailbox(wakeup: wakeup)
    let (messages, answers, flags) = (messages, answers, flags)
    let poller = try Poller(capacity: 1)
    try poller.add(messages.wakeup.fd, token: 0, .readable)
    let thread = try LoopThread(name: "audiences") {
      let tokens = TokenTopicReader(kafka) { flags.isStopping.load(ordering: .relaxed) }
      Session(location, topics, tokens).run(poller, messages, answers)
      tokens.close()
      flags.hasEnded.store(true, ordering: .releasing)
    }
    thread.detach()
  }

  deinit { messages.post(.stop) }

  /// Ends the thread, if it stops within a second.
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

  /// A question waiting for its turn, with what was read from a topic so far.
  private struct Job {
    let asker: Asker
    let audience: Audience
    let question: Question
    var reading: TokenTopicReader.Reading?
  }

  /// The state that the thread owns.
  private final class Session {
    private let location: String
    private let topics: AudienceTopics
    private let tokens: TokenTopicReader
    private var reader: AudienceReader?

    init(_ location: String, _ topics: AudienceTopics, _ tokens: TokenTopicReader) {
      (self.location, self.topics, self.tokens) = (location, topics, tokens)
    }

    func run(_ poller: Poller, _ messages: Mailbox<Message>, _ answers: Mailbox<(Asker, Answer)>) {
      var ready: [ReadyEvent] = []
      var jobs = Turns<ExactText, Job>()
      while true {
        poller.wait(timeoutMilliseconds: jobs.isEmpty ? 60_000 : 0, into: &ready)
        messages.wakeup.clear()
        let arrived = messages.drain()
        if arrived.isEmpty, jobs.isEmpty { tokens.close() }
        for message in arrived {
          guard case .question(let asker, let audience, let question) = message else { return }
          jobs.add(
            Job(asker: asker, audience: audience, question: question), of: audience.app.exact)
        }
        guard let next = jobs.next() else { continue }
        var job = next.item
        if let answer = step(&job) {
          answers.post((job.asker, answer))
        } else {
          jobs.giveBack(job, of: next.owner)
        }
      }
    }

    /// - Returns: nil if the question is not done yet.
    private func step(_ job: inout Job) -> Answer? {
      if let topic = job.audience.tokenTopic { return step(&job, topic) }
      do throws(StoreError) {
        let open: AudienceReader
        if let reader { open = reader } else { open = try AudienceReader(location) }
        reader = open
        switch job.question {
        case .count: return .count(.init(tokens: try open.count(job.audience)))
        case .waves(let local): return waves(local, zones: try open.zones(job.audience))
        case .devices(let zones, let token, let limit):
          let page = try open.devices(job.audience, in: zones, after: token, limit: limit)
          return .devices(page, limit: limit)
        }
      } catch {
        // The database is opened again for the next question.
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

    private func step(_ job: inout Job, _ topic: String) -> Answer? {
      // The campaign may be older than the current settings.
      guard topics.contains(topic) else { return .none("\(topic) \(topics.problem)") }
      do throws(KafkaError) {
        if job.reading == nil { job.reading = try begin(job, topic) }
        guard var reading = job.reading else {
          // It is unknown where the devices are.
          guard case .waves(let local) = job.question else { return nil }
          return waves(local, zones: [])
        }
        let isDone = try tokens.goOn(
          &reading, until: MonotonicClock.milliseconds() + AudienceWorker.turn)
        job.reading = reading
        guard isDone else { return nil }
        return reading.limit.map { .devices(reading.page, limit: $0) } ?? .count(reading.count)
      } catch {
        return .none("\(error)")
      }
    }

    /// - Returns: nil for a question that is not about a topic.
    private func begin(
      _ job: Job, _ topic: String
    ) throws(KafkaError) -> TokenTopicReader.Reading? {
      let source = TokenTopicReader.Source(topic: topic, campaign: job.asker)
      switch job.question {
      case .count: return try tokens.counting(source)
      case .waves: return nil
      case .devices(_, let place, let limit):
        return try tokens.paging(source, after: place, limit: limit)
      }
    }
  }
}
