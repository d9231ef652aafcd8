// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing
import Waiting

@Suite struct DeviceHistoryTests {
  private enum Fact {
    case presence(DeviceState.Presence)
    case mark(DeviceState.Mark)
  }

  private func mark(_ since: Int64, reason: String = "Unregistered") -> DeviceState.Mark {
    DeviceState.Mark(since: since, aliveFrom: since + 1, reason: reason, recordedAt: since + 9)
  }

  private func history(_ facts: some Sequence<Fact>) -> DeviceHistory {
    var history = DeviceHistory()
    for fact in facts {
      switch fact {
      case .presence(let presence): history.note(presence)
      case .mark(let mark): history.note(mark)
      }
    }
    return history
  }

  private func words(_ history: DeviceHistory) -> [String] {
    history.changes.map { "\($0.change) \($0.at)\($0.reason.isEmpty ? "" : " \($0.reason)")" }
  }

  @Test func `registered, invalid, revived, removed: the changes in the order of their times`() {
    let all: [Fact] = [
      .presence(.registered(at: 10)), .presence(.registered(at: 20)), .mark(mark(25)),
      .mark(mark(27)), .presence(.registered(at: 30)), .presence(.registered(at: 31)),
      .presence(.removed(at: 40)), .presence(.registered(at: 50)),
    ]
    #expect(
      words(history(all)) == [
        "registered 10", "invalid 25 Unregistered", "revived 30", "removed 40", "registered 50",
      ])
  }

  @Test
  func `a registration at the very moment from which one revives does so, an earlier one not`() {
    let without = DeviceState.Mark(since: 5, aliveFrom: 5, reason: "", recordedAt: 6)
    #expect(
      words(history([.presence(.registered(at: 5)), .mark(without)])) == ["invalid 5", "revived 5"])
    #expect(
      words(history([.presence(.registered(at: 5)), .mark(mark(5))])) == [
        "registered 5", "invalid 5 Unregistered",
      ])
  }

  @Test func `many registrations leave the first one and the answers of APNs in it`() {
    var all: [Fact] = [.presence(.registered(at: 1)), .mark(mark(2))]
    all += (10..<500).map { .presence(.registered(at: $0)) }
    let history = history(all)
    #expect(history.facts.count == 2 + DeviceHistory.perKind)
    #expect(words(history) == ["registered 1", "invalid 2 Unregistered", "revived 496"])
  }

  @Test func `text gives the same history back, and any text gives one`() {
    let all: [Fact] = [
      .presence(.removed(at: 3)), .mark(mark(-7, reason: "Bad reason:+ \u{E9}")),
      .presence(.registered(at: .max)), .mark(mark(1, reason: "")),
      .mark(.init(since: 9, aliveFrom: .max, reason: "x", recordedAt: 0)),
    ]
    let known = history(all)
    #expect(DeviceHistory(text: known.text) == known)
    #expect(known.text.contains("i-7+1:Bad_reason__"))
    for text in ["", " ", "r", "rx", "i5", "i5:a", "i5+:a", "q7", "r5 nonsense x6 i1+1:a b"] {
      let read = DeviceHistory(text: text)
      #expect(DeviceHistory(text: read.text) == read, "\(text)")
    }
    #expect(DeviceHistory(text: "r5 nonsense x6").facts.count == 2)
  }

  /// The property on which every process relies: facts may come in any order, twice, and through the database's text.
  @Test(arguments: 0..<200 as Range<UInt64>)
  func `the same facts give the same history in any order, however often they come`(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    let facts: [Fact] = (0..<random.below(40)).map { _ in
      let time = Int64(random.below(60))
      switch random.below(3) {
      case 0: return .presence(.registered(at: time))
      case 1: return .presence(.removed(at: time))
      default: return .mark(mark(time, reason: random.oneIn(2) ? "Unregistered" : "ExpiredToken"))
      }
    }
    let expected = history(facts)
    #expect(expected.facts.count <= 3 * DeviceHistory.perKind + 1)
    for _ in 0..<4 {
      var order = facts.shuffled(using: &random)
      order += facts.filter { _ in random.oneIn(3) }
      var merged = history(order.prefix(random.below(order.count + 1)))
      merged = DeviceHistory(text: merged.text)
      merged.merge(history(order))
      #expect(merged == expected, "seed \(seed)")
    }
  }

  @Test func `a state has its facts in its history, and a row that goes takes them along`() {
    var state = DeviceState(presence: .registered(at: 5))
    state.apply(mark(7))
    state.apply(.registered(at: 9))
    state.apply(DeviceState.Mark?.none)
    #expect(words(state.history) == ["registered 5", "invalid 7 Unregistered", "revived 9"])
    state.apply(DeviceState.Presence?.none)
    #expect(state.isEmpty && state.history.facts.isEmpty)
  }

  @Test func `the newest registration's details count, whatever comes after it from before`() {
    var state = DeviceState()
    state.apply(.registered(at: 5), .init(user: "ann"))
    state.apply(.registered(at: 9), .init(locale: "de"))
    state.apply(.registered(at: 7), .init(user: "bob"))
    #expect(state.details == .init(locale: "de"))
    state.apply(.removed(at: 10))
    #expect(state.details == .none)
  }
}
