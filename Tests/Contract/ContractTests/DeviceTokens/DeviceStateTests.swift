// SPDX-License-Identifier: Apache-2.0
import Contract
import FeedbackDecisions
import Testing
import Waiting

@Suite struct DeviceStateTests {
  private func mark(_ since: Int64) -> DeviceState.Mark {
    DeviceState.Mark(since: since, aliveFrom: since + 1, reason: "Unregistered", recordedAt: since)
  }

  @Test func `a mark counts until a registration at its limit or later`() {
    var state = DeviceState(presence: .registered(at: 100), mark: mark(100))
    #expect(state.isInvalid && !state.isMarkObsolete)
    state.apply(.registered(at: 101))
    #expect(!state.isInvalid && state.isMarkObsolete)
    state.apply(DeviceState.Mark?.none)
    #expect(!state.isInvalid && !state.isMarkObsolete && !state.isEmpty)
  }

  @Test func `the newest fact counts in any order, and of two at one time the later record`() {
    var state = DeviceState()
    for time in [5, 9, 7] as [Int64] { state.apply(.registered(at: time)) }
    #expect(state.registeredAt == 9)
    state.apply(.removed(at: 8))
    #expect(state.registeredAt == 9)
    state.apply(.removed(at: 9))
    #expect(state.presence == .removed(at: 9) && state.registeredAt == nil)
    state.apply(DeviceState.Presence?.none)
    #expect(state.isEmpty)
    state.apply(.registered(at: 1))
    #expect(state.registeredAt == 1)
  }

  @Test func `a mark is published only when the topic has none as strong`() {
    var state = DeviceState()
    #expect(state.needs(mark(5)))
    state.apply(mark(5))
    #expect(!state.needs(mark(5)) && !state.needs(mark(4)))
    #expect(state.needs(mark(6)))
  }

  /// The history is made only where there is more than the state says: that shows nowhere.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `the history has all facts since the row is there`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (state, history) = (DeviceState(), DeviceHistory())
    for _ in 0..<30 {
      let time = Int64(random.below(12))
      switch random.below(7) {
      case 0: state.apply(DeviceState.Presence?.none)
      case 1: state.apply(DeviceState.Mark?.none)
      case 2, 3:
        state.apply(mark(time))
        history.note(mark(time))
      case 4:
        state.apply(.removed(at: time))
        history.note(.removed(at: time))
      default:
        let user: String? = random.oneIn(3) ? nil : random.oneIn(2) ? "ada" : "bob"
        let releases =
          switch state.presence {
          case .removed(let last)?: time >= last
          case .registered(let last)?:
            time >= last && state.details.user != nil && state.details.user != user
          case nil: false
          }
        state.apply(.registered(at: time), DeviceDetails(user: user))
        history.note(.registered(at: time))
        if releases { history.merge(DeviceHistory(text: "o\(time)")) }
      }
      if state.isEmpty { history = DeviceHistory() }
      #expect(state.history == history)
      let isMore =
        history.facts.count > (state.presence == nil ? 0 : 1) + (state.mark == nil ? 0 : 1)
      #expect(state.earlierHistory == (isMore ? history : nil))
      let read = DeviceState(
        presence: state.presence, mark: state.mark, details: state.details,
        history: DeviceHistory(text: history.text))
      #expect(state == read && read == state)
    }
  }

  @Test func `a change of the mark alone is told from others`() {
    let registered = DeviceState(presence: .registered(at: 9), details: DeviceDetails(user: "u"))
    var marked = registered
    marked.apply(mark(12))
    #expect(marked.differsInMark(from: registered))
    #expect(DeviceState(mark: mark(1)).differsInMark(from: DeviceState()))
    #expect(!registered.differsInMark(from: marked), "no mark")
    var other = marked
    other.apply(mark(14))
    #expect(!other.differsInMark(from: marked), "a history is to be kept")
    other = DeviceState(presence: .registered(at: 9), mark: mark(12))
    #expect(!other.differsInMark(from: registered), "other details")
    other = DeviceState(presence: .removed(at: 9), mark: mark(12))
    #expect(!other.differsInMark(from: registered))
  }

  /// What compaction keeps, the last record of a key, says all that the whole log says.
  @Test(arguments: 0..<50 as Range<UInt64>)
  func `facts in the order of their times are the last of them`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    var (state, last, time) = (DeviceState(), DeviceState(), Int64(0))
    for _ in 0..<20 {
      time += Int64(random.below(3))
      let fact: DeviceState.Presence? =
        random.oneIn(5) ? nil : random.oneIn(2) ? .registered(at: time) : .removed(at: time)
      let mark: DeviceState.Mark? = random.oneIn(3) ? nil : mark(Int64(random.below(40)))
      state.apply(fact)
      state.apply(mark)
      last = DeviceState(presence: fact, mark: mark)
    }
    #expect(state.presence == last.presence && state.mark == last.mark)
  }
}

@Suite struct ChangelogPositionTests {
  private let anchor = ChangelogPosition.Anchor(offset: 7, timestamp: 3, keyHash: 9)

  @Test func `reading goes on with the last record that was applied`() {
    let position = ChangelogPosition(anchor: anchor)
    #expect(position.start == 7 && position.next == 8)
    #expect(ChangelogPosition().start == nil && ChangelogPosition().next == 0)
    var check = AnchorCheck(position)
    #expect(!check.mayEnd(), "the log ends before it")
    #expect(check.isAnchor(anchor) == true)
    #expect(check.mayEnd())
    #expect(check.isAnchor(.init(offset: 8, timestamp: 3, keyHash: 1)) == nil)
  }

  @Test func `another record in its place is another log`() {
    for other in [
      ChangelogPosition.Anchor(offset: 7, timestamp: 4, keyHash: 9),
      ChangelogPosition.Anchor(offset: 7, timestamp: 3, keyHash: 8),
      ChangelogPosition.Anchor(offset: 9, timestamp: 3, keyHash: 9),
    ] {
      var check = AnchorCheck(ChangelogPosition(anchor: anchor))
      #expect(check.isAnchor(other) == false)
    }
    var empty = AnchorCheck(ChangelogPosition())
    #expect(empty.mayEnd() && empty.isAnchor(anchor) == nil)
  }

  @Test func `keys have different hashes`() {
    let hashes = (0..<1_000).map { ChangelogPosition.Anchor.hash("device-\($0)".utf8) }
    #expect(Set(hashes).count == 1_000)
    #expect(ChangelogPosition.Anchor.hash([]) == ChangelogPosition.Anchor.hash("".utf8))
  }

  @Test func `a table is rebuilt when nothing or nothing certain is known of it`() {
    let rule = RestoreRule(maxAge: 3_600_000)
    func reason(_ followedAt: Int64?, now: Int64 = 10_000_000, _ topics: Set<String> = ["a"])
      -> RestoreReason?
    {
      rule.reason(followedAt: followedAt, now: now, topics: topics, wanted: ["a", "b"])
    }
    #expect(reason(nil) == .empty)
    #expect(reason(9_999_999) == nil)
    #expect(reason(9_999_999, []) == nil)
    #expect(reason(10_000_000 - 3_600_000) == nil)
    #expect(reason(10_000_000 - 3_600_001) == .tooOld(milliseconds: 3_600_001))
    #expect(reason(10_000_000 + 60_000) == nil)
    #expect(reason(10_000_000 + 60_001) == .clockWentBack(milliseconds: 60_001))
    #expect(reason(9_999_999, ["a", "c"]) == .otherTopics)
    #expect(reason(.min, now: .max) == .tooOld(milliseconds: .max))
  }

  @Test func `nothing is looked up in a table that nobody has followed for a while`() {
    #expect(RestoreRule.isBehind(followedAt: nil, now: 0))
    #expect(!RestoreRule.isBehind(followedAt: 1_000, now: 1_201_000))
    #expect(RestoreRule.isBehind(followedAt: 1_000, now: 1_201_001))
    #expect(RestoreRule.isBehind(followedAt: .min, now: .max))
    #expect(RestoreRule.maxAge(deleteRetention: 604_800_000) == 544_320_000)
  }

  @Test(arguments: [604_800_000, 600_000, 120_000] as [Int64])
  func `a table of idle topics is recorded as complete before it is too old`(retention: Int64) {
    let rule = RestoreRule(maxAge: RestoreRule.maxAge(deleteRetention: retention))
    #expect(rule.idlePeriod <= 600_000)
    // Not within a minute of the record before.
    let recorded = 60_000 + rule.idlePeriod
    #expect(rule.reason(followedAt: 0, now: recorded, topics: [], wanted: []) == nil)
  }

  @Test func `progress is never said to be at its end`() {
    #expect(TableProgress(done: 0, total: 0).description == "it has just begun")
    #expect(TableProgress(done: 37, total: 100).description == "37 % of 100 records")
    #expect(TableProgress(done: 200, total: 100).percent == 99)
    #expect(TableProgress(done: -5, total: 100).percent == 0)
    #expect(TableState.complete(generation: 1).obstacle == nil)
    #expect(TableState.unfilled.obstacle?.contains("martlet-feedback") == true)
  }
}

@Suite struct TableCompletenessTests {
  private var completeness = TableCompleteness(["a", "b"])

  @Test mutating func `complete is what was read to the ends that were asked for afterwards`() {
    var read: [String: Int64] = ["a": 5, "b": 0]
    #expect(!completeness.isComplete { read[$0] })
    completeness.want()
    #expect(completeness.question { read[$0] } == ["a", "b"])
    #expect(completeness.question { read[$0] } == nil, "one at a time")
    #expect(completeness.answered(["a": 5, "b": 2]) == nil)
    #expect(!completeness.isComplete { read[$0] })
    read["b"] = 2
    #expect(completeness.isComplete { read[$0] })
    #expect(!completeness.isComplete { $0 == "a" ? nil : 9 }, "its log is not known yet")
    completeness.want()
    #expect(!completeness.isComplete { read[$0] }, "more may have been written")
  }

  @Test mutating func `an end that cannot be found out leaves it incomplete and is asked again`() {
    completeness.want()
    _ = completeness.question { _ in 100 }
    #expect(completeness.answered(["a": 100]) == nil)
    #expect(!completeness.isComplete { _ in 100 })
    #expect(completeness.question { _ in 100 } == ["a", "b"])
  }

  @Test mutating func `an answer to a question that was given up says nothing`() {
    completeness.want()
    _ = completeness.question { _ in 0 }
    completeness.want()
    #expect(completeness.answered(["a": 0, "b": 0]) == nil)
    #expect(!completeness.isComplete { _ in 9 })
    #expect(!completeness.isAnswered)
  }

  @Test mutating func `a log that ends before what was read of it is another one`() {
    completeness.want()
    _ = completeness.question { $0 == "a" ? nil : 7 }
    #expect(completeness.answered(["a": 0, "b": 6]) == "b")
    completeness.want()
    _ = completeness.question { $0 == "a" ? nil : 7 }
    #expect(completeness.answered(["a": 0, "b": 7]) == nil)
  }
}
