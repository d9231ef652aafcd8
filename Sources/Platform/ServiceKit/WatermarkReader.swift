// SPDX-License-Identifier: Apache-2.0
public import EventLoop
import Glibc
public import Kafka
import Synchronization

/// Reads where logs begin and end, on a thread and over connections of its own.
///
/// On a consumer's connection the question stands behind a fetch that waits for records, and a slow broker takes
/// its time anywhere: the consumer's thread has none to spare. Owned by that thread; one question at a time.
public final class WatermarkReader {
  public typealias Answers = [TopicPartition: Watermarks]

  private let questions = Mailbox<[TopicPartition]>(wakeup: Wakeup())
  private let answers: Mailbox<Answers>
  private let state = State()
  /// True if an answer is still to come.
  public private(set) var isAsked = false

  /// - Parameter wakeup: signalled when an answer has come.
  public init(
    _ configuration: KafkaConfiguration, _ context: ServiceContext, wakeup: Wakeup
  ) throws(SystemError) {
    let answers = Mailbox<Answers>(wakeup: wakeup)
    self.answers = answers
    let (questions, state) = (questions, state)
    let thread = try LoopThread(name: "watermarks") {
      if let loop = try? ServiceLoop(nil, context, wakeup: questions.wakeup) {
        Work(configuration: configuration, questions: questions, answers: answers, state: state)
          .run(loop)
      }
      state.hasEnded.store(true, ordering: .releasing)
    }
    thread.detach()
  }

  deinit { end() }

  private func end() {
    state.isEnding.store(true, ordering: .releasing)
    questions.wakeup.signal()
  }

  /// Ends the thread and waits until its Kafka client is gone, at most a second.
  public func close() {
    end()
    let deadline = MonotonicClock.milliseconds() + 1_000
    while !state.hasEnded.load(ordering: .acquiring), MonotonicClock.milliseconds() < deadline {
      usleep(1_000)
    }
  }

  /// Asks for the ends of these logs as they are from now on. No other question may be open.
  public func ask(_ partitions: [TopicPartition]) {
    precondition(!isAsked, "one question at a time")
    isAsked = true
    questions.post(partitions)
  }

  /// The answer if it has come: what of it could be found out.
  public func drainAnswer() -> Answers? {
    guard isAsked, let answer = answers.drain().last else { return nil }
    isAsked = false
    return answer
  }

  private final class State: Sendable {
    let isEnding = Atomic(false)
    let hasEnded = Atomic(false)
  }

  private struct Work {
    /// The most time that one request may take, in milliseconds.
    private static let patience: Int32 = 1_000
    /// After so long without a question the client is given up: most processes ask once an assignment.
    private static let idleMilliseconds: Int32 = 30_000

    let configuration: KafkaConfiguration
    let questions: Mailbox<[TopicPartition]>
    let answers: Mailbox<Answers>
    let state: State

    private var isEnding: Bool { state.isEnding.load(ordering: .acquiring) }

    func run(_ loop: ServiceLoop) {
      var admin: KafkaAdmin?
      var wasWhole = true
      while !isEnding {
        _ = loop.wait(admin == nil ? -1 : Self.idleMilliseconds)
        let asked = questions.drain()
        if asked.isEmpty {
          admin?.close()
          admin = nil
        }
        for partitions in asked {
          if admin == nil { admin = try? KafkaAdmin(configuration) }
          let found = admin.map { look(partitions, $0, atOnce: wasWhole) } ?? [:]
          wasWhole = found.count == partitions.count
          // Whoever asks will ask again at once.
          if !wasWhole, !isEnding { usleep(100_000) }
          answers.post(found)
        }
      }
      admin?.close()
    }

    /// All with one request to each broker. Where that fails because of one of them, leader by leader.
    ///
    /// - Parameter atOnce: false if it is known to fail: it would take its time before it does.
    private func look(
      _ partitions: [TopicPartition], _ admin: KafkaAdmin, atOnce: Bool
    ) -> Answers {
      if atOnce, let all = try? admin.watermarks(partitions, timeoutMilliseconds: Self.patience) {
        return Answers(zip(partitions, all)) { first, _ in first }
      }
      return admin.reachableWatermarks(
        partitions, timeoutMilliseconds: Self.patience, isEnding: { isEnding })
    }
  }
}
