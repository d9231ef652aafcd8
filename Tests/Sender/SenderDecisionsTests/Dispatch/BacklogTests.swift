// SPDX-License-Identifier: Apache-2.0

import Testing

/// A backlog goes out at the gateway's rate, whatever made it and however many credentials share it.
@Suite struct BacklogTests {
  /// What the gateway needs for so many, and a fifth more, in milliseconds; and what the start may take.
  private func limit(_ count: Int) -> UInt64 {
    UInt64(count / ScriptedBacklog.rate) * 12 / 10 + 1_200
  }

  /// Runs a model until all is delivered, or it has become far too late.
  private func run(_ model: ScriptedBacklog, to count: Int) {
    while model.delivered < count, model.elapsed < 100_000 { model.turn() }
  }

  /// After a kill or a stop a process finds everything in Kafka and has no connection yet: the start counts, too.
  @Test(arguments: [(1, 100), (2, 1), (2, 20_000), (100, 1), (100, 5_000)])
  func `a backlog goes out at the gateway's rate`(credentials: Int, longestRun: Int) {
    let count = 60_000
    let model = ScriptedBacklog(
      count: count, credentials: credentials, longestRun: longestRun, seed: 1)
    run(model, to: count)
    #expect(model.delivered == count, "\(model.summary)")
    #expect(model.moved == 0)
    #expect(model.elapsed <= limit(count), "\(model.elapsed) ms")
  }

  @Test(arguments: [1, 2, 100])
  func `an outage of the gateway costs its own time only`(credentials: Int) {
    let count = 60_000
    let model = ScriptedBacklog(count: count, credentials: credentials, longestRun: 100, seed: 2)
    for _ in 0..<500 { model.turn() }
    model.outage = model.now..<model.now + 10_000
    run(model, to: count)
    #expect(model.delivered == count, "\(model.summary)")
    #expect(model.moved == 0, "it would have helped no other destination")
    #expect(model.elapsed <= limit(count) + 10_000, "\(model.elapsed) ms")
  }

  /// One of several credentials gets no answers: the others' backlog goes out as if it were not there, and its own
  /// once it is well, by way of the retry tier.
  @Test(arguments: [2, 10])
  func `a stuck credential is moved aside`(credentials: Int) {
    let count = 60_000
    let model = ScriptedBacklog(count: count, credentials: credentials, longestRun: 100, seed: 3)
    model.hang(0)
    var before = -1
    // Until nothing is delivered for five seconds: what the others have is out.
    while model.delivered > before, model.elapsed < 100_000 {
      before = model.delivered
      for _ in 0..<2_500 { model.turn() }
    }
    #expect(model.delivered(to: 0) == 0)
    #expect(model.moved > 0)
    #expect(model.elapsed <= limit(count) + 12_000, "\(model.elapsed) ms")
    model.hang(nil)
    run(model, to: count)
    #expect(model.delivered == count, "\(model.summary)")
  }
}
