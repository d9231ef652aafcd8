// SPDX-License-Identifier: Apache-2.0

import Testing
import Waiting

@testable import ConsumerGroup

@Suite struct CommitStateTests {
  private typealias State = CommitState<Int>

  private func begun(at offset: Int64 = 100) -> State {
    var state = State()
    state.begin(1, epoch: 1, committed: offset, ResumePoint(next: offset), isNews: false)
    return state
  }

  private func progress(
    _ committable: Int64, epoch: UInt32 = 1, _ above: [Range<Int64>] = []
  ) -> [PartitionProgress<Int>] {
    [PartitionProgress(1, epoch: epoch, committable: committable, completedAbove: above)]
  }

  @Test func `nothing is due before anything moved`() {
    var state = begun()
    #expect(state.due(now: 0).isEmpty)
    state.note(progress(100))
    #expect(state.due(now: 0).isEmpty)
  }

  @Test func `the group's offset stays while records below it are read again`() {
    var state = State()
    state.begin(1, epoch: 1, committed: 100, ResumePoint(next: nil), isNews: false)
    state.note(progress(60, [70..<80]))
    #expect(state.due(now: 0).isEmpty && state.everything(now: 0).isEmpty)
    state.note(progress(101))
    #expect(state.due(now: 0).map(\.offset) == [101])
    state.restart(1, epoch: 1)
    state.note(progress(3))
    #expect(state.everything(now: 1).map(\.offset) == [3], "another log")
  }

  @Test func `a log that ends below the group's offset is another one`() {
    var state = State()
    state.begin(1, epoch: 1, committed: 100, ResumePoint(next: nil), isNews: false)
    state.note(progress(4))
    state.ended(1, at: 100)
    #expect(state.due(now: 0).isEmpty)
    state.ended(1, at: 4)
    #expect(state.due(now: 0).map(\.offset) == [4])
  }

  @Test func `the answer to a commit of the log before says nothing of the new one`() {
    var state = begun()
    state.note(progress(101))
    #expect(state.due(now: 0).map(\.offset) == [101])
    state.restart(1, epoch: 1)
    state.note(progress(3))
    #expect(state.due(now: 1).isEmpty, "one is under way")
    state.answered([(1, 101)])
    #expect(state.due(now: 2).map(\.offset) == [3])
  }

  @Test func `what retention removed unread is passed, and counts as passed once`() {
    var state = begun()
    // Nothing is left of the log: no record says that the gap was passed.
    state.lost(1, 100..<5_498)
    #expect(state.due(now: 0) == [PlannedCommit(partition: 1, offset: 5_498, completedAbove: [])])
    state.answered([(1, 5_498)])
    #expect(state.due(now: 1).isEmpty)
    state.lost(1, 100..<200)
    state.note(progress(100))
    #expect(state.due(now: 1).isEmpty, "a report of before")
    state.note(progress(5_500))
    #expect(state.due(now: 1).map(\.offset) == [5_500])
  }

  @Test func `what is open below a gap is gone as well; what is done above it stays done`() {
    var state = begun()
    state.note(progress(101, [103..<104, 205..<207]))
    state.lost(1, 110..<200)
    #expect(
      state.due(now: 0) == [PlannedCommit(partition: 1, offset: 200, completedAbove: [205..<207])])
    state.lost(2, 0..<9)
    #expect(state.due(now: 20_000).map(\.partition) == [1], "another one's")
  }

  @Test func `a refusal of some partitions stands until they are taken`() {
    var state = begun()
    state.begin(2, epoch: 1, committed: 7, ResumePoint(next: 7), isNews: false)
    state.note(progress(105))
    state.note([PartitionProgress(2, epoch: 1, committable: 9)])
    #expect(state.due(now: 0).count == 2)
    state.answered([(1, 105)], refused: [2, 3])
    #expect(state.refusedPartitions == [2])
    #expect(state.due(now: 1).map(\.partition) == [2])
    // An answer that does not come says nothing.
    #expect(state.due(now: 20_000).map(\.partition) == [2])
    #expect(state.refusedPartitions == [2])
    state.answered([(2, 9)])
    #expect(state.refusedPartitions.isEmpty)
    #expect(state.due(now: 20_001).isEmpty)
  }

  @Test func `no refusal stands of a partition that is given back or whose log is another`() {
    for end in 0..<3 {
      var state = begun()
      state.note(progress(105))
      _ = state.due(now: 0)
      state.answered([], refused: [1])
      #expect(state.refusedPartitions == [1])
      switch end {
      case 0: state.forget(1)
      case 1: state.restart(1, epoch: 1)
      default: state.removeAll()
      }
      #expect(state.refusedPartitions.isEmpty)
    }
  }

  @Test func `holes alone are worth a commit`() {
    var state = begun()
    state.note(progress(100, [105..<107]))
    #expect(
      state.due(now: 0) == [PlannedCommit(partition: 1, offset: 100, completedAbove: [105..<107])])
    state.answered([(1, 100)])
    #expect(state.due(now: 1).isEmpty)
    state.note(progress(100, [105..<108]))
    #expect(state.due(now: 2).count == 1)
  }

  @Test func `one commit is outstanding at a time`() {
    var state = begun()
    state.note(progress(110))
    #expect(state.due(now: 0).count == 1)
    state.note(progress(120))
    #expect(state.due(now: 1).isEmpty)
    state.answered([(1, 110)])
    // Lesson: a completion during a commit under way was forgotten until the next one.
    #expect(state.due(now: 2).map(\.offset) == [120])
  }

  @Test func `a commit that was refused comes again`() {
    var state = begun()
    state.note(progress(110))
    #expect(state.due(now: 0).map(\.offset) == [110])
    state.answered([])
    #expect(state.due(now: 1).map(\.offset) == [110])
    state.refused()
    #expect(state.due(now: 2).map(\.offset) == [110])
  }

  @Test func `an answer that never comes does not end commits`() {
    var state = begun()
    state.note(progress(110))
    #expect(state.due(now: 0).count == 1)
    #expect(
      state.due(now: State.patience - 1).isEmpty && !state.isUnanswered(now: State.patience - 1))
    #expect(state.isUnanswered(now: State.patience))
    #expect(state.due(now: State.patience).count == 1)
    #expect(!state.isUnanswered(now: State.patience))
  }

  @Test func `revoked partitions leave nothing to commit`() {
    var state = begun()
    state.note(progress(110))
    #expect(state.due(now: 0).count == 1)
    state.removeAll()
    #expect(!state.isUnanswered(now: State.patience))
    state.begin(1, epoch: 2, committed: nil, ResumePoint(next: nil), isNews: false)
    state.note(progress(120, epoch: 2))
    #expect(state.due(now: 1).map(\.offset) == [120])
    // The answer to the commit before.
    state.answered([(1, 110)])
    #expect(state.due(now: 2).map(\.offset) == [120])
  }

  @Test func `reports of an earlier assignment count for nothing`() {
    var state = begun()
    var memory = CompletionMemory<Int>()
    state.handOver(to: &memory)
    state.begin(1, epoch: 2, committed: 100, ResumePoint(next: 100), isNews: false)
    state.note(progress(150, epoch: 1))
    #expect(state.due(now: 0).isEmpty)
  }

  @Test func `a log that starts again is committed from its start`() {
    var state = begun(at: 5_000)
    state.restart(1, epoch: 1)
    state.note(progress(3))
    #expect(state.due(now: 0).map(\.offset) == [3])
  }

  /// What was done in a log says nothing about another one in its place.
  @Test func `of a log that is gone nothing is committed or remembered`() {
    var state = begun()
    state.note(progress(110, [115..<120]))
    state.forget(1)
    state.note(progress(112))
    #expect(state.everything(now: 0).isEmpty)
    var memory = CompletionMemory<Int>()
    state.handOver(to: &memory)
    let (point, isNews, _) = memory.resume(1, committed: 105, map: [])
    #expect(point == ResumePoint(next: 105) && !isNews)
  }

  @Test func `a refused last commit is remembered`() {
    var state = begun()
    state.note(progress(110, [115..<120]))
    #expect(state.everything(now: 0).map(\.offset) == [110])
    state.refused()
    var memory = CompletionMemory<Int>()
    state.handOver(to: &memory)
    let (point, isNews, _) = memory.resume(1, committed: 100, map: [])
    #expect(point == ResumePoint(next: 110, completedAbove: [115..<120]))
    #expect(isNews)
    state.begin(1, epoch: 2, committed: 100, point, isNews: isNews)
    #expect(state.due(now: 1).map(\.offset) == [110], "it is committed at once")
  }

  @Test func `memory is not believed below what was acknowledged`() {
    var memory = CompletionMemory<Int>()
    memory.remember(1, committed: 100, committable: 110, completedAbove: [115..<120])
    #expect(memory.resume(1, committed: 40, map: []).point == ResumePoint(next: 40))
    memory.remember(1, committed: 100, committable: 110, completedAbove: [115..<120])
    #expect(memory.resume(1, committed: nil, map: []).point.next == nil)
    let first = memory.resume(1, committed: nil, map: [], logStart: 7)
    #expect(first.point == ResumePoint(next: 7) && first.isNews, "committed at once")
    #expect(memory.resume(1, committed: 100, map: []).isNews == false, "asked once")
  }

  /// The topic may have been made again since, and its log may have grown past what was committed of the one before.
  @Test func `progress of a partition that did not come back is dropped`() {
    var memory = CompletionMemory<Int>()
    memory.remember(1, committed: 30, committable: 31, completedAbove: [40..<96])
    memory.remember(2, committed: 30, committable: 31, completedAbove: [40..<96])
    _ = memory.resume(2, committed: 30, map: [])
    memory.removeAll()
    #expect(memory.resume(1, committed: 49, map: []).point == ResumePoint(next: 49))
  }

  @Test func `memory and map are joined`() {
    var memory = CompletionMemory<Int>()
    memory.remember(1, committed: 100, committable: 104, completedAbove: [108..<112])
    let (point, isNews, _) = memory.resume(
      1, committed: 102, map: [104..<106, 110..<115, 120..<121])
    #expect(point == ResumePoint(next: 106, completedAbove: [108..<115, 120..<121]))
    #expect(isNews)
  }

  @Test func `another owner's progress goes before and what it passed is dropped`() {
    var memory = CompletionMemory<Int>()
    memory.remember(1, committed: 100, committable: 150, completedAbove: [160..<170, 180..<200])
    #expect(
      memory.resume(1, committed: 175, map: []).point
        == ResumePoint(next: 175, completedAbove: [180..<200]))
  }

  @Test func `a completion that was never committed is not remembered`() {
    var memory = CompletionMemory<Int>()
    memory.remember(1, committed: -1, committable: 10, completedAbove: [])
    #expect(memory.resume(1, committed: 0, map: []).point.next == 0)
  }

  /// Ledgers, commits and rebalances in any order, against a broker that loses answers and refuses commits:
  /// no committed offset passes an open record, no map names one, and all is committed in the end.
  @Test(arguments: 0..<120 as Range<UInt64>)
  func `no commit ever passes an open record`(seed: UInt64) throws {
    var world = CommitWorld(seed: seed)
    for step in 0..<1_500 {
      world.step()
      if let problem = world.problem {
        Issue.record("seed \(seed), step \(step): \(problem)")
        return
      }
    }
    world.finish()
    #expect(world.problem == nil, "seed \(seed): \(world.problem ?? "")")
    let isAllCommitted = world.isAllCommitted
    #expect(isAllCommitted, "seed \(seed)")
  }
}
