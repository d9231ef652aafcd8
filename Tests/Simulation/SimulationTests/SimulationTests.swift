// SPDX-License-Identifier: Apache-2.0
import Simulation
import Testing

/// The decisions that ship, in virtual time: what must hold is said in `docs/guarantees.md`.
@Suite struct SimulationTests {
  @Test(arguments: 1...8 as ClosedRange<UInt64>)
  func `every notification has its outcome, and no rule is broken on the way`(_ seed: UInt64) {
    for seed in Runs.seeds(seed...seed) { run(seed, Runs.steps(2_000)) }
  }

  /// Seeds that once broke, with the steps that it took. What goes wrong in which step changes with the simulation; each was
  /// seen to break the present one with its defect put back.
  static let regressions: [(seed: UInt64, steps: Int, defect: String)] = [
    (46, 50_000, "a log is asked about from the next offset, and its map reaches further"),
    (152_794_678, 5_000, "a map is believed whose log is made again before anything is read"),
  ]

  @Test(arguments: regressions.indices)
  func `seeds that once broke hold`(_ index: Int) {
    let regression = Self.regressions[index]
    run(regression.seed, regression.steps)
  }

  @Test func `the same with a fresh seed`() {
    let seed = UInt64.random(in: 1_000...1_000_000_000)
    print("simulation with the fresh seed \(seed)")
    run(seed, Runs.steps(5_000))
  }

  @Test func `a seed replays exactly`() {
    // A longer trace takes other memory: nothing may depend on where a value lies.
    let traces = [100, 1_000_000].map {
      Simulation.trace(seed: 9, steps: 3_000, last: $0).suffix(100)
    }
    #expect(traces[0] == traces[1])
    #expect(traces[0].count == 100)
  }

  private func run(_ seed: UInt64, _ steps: Int) {
    var simulation = Simulation(seed: seed)
    let problem = simulation.run(steps: steps)
    if problem != nil {
      print(Simulation.trace(seed: seed, steps: steps, last: 40).joined(separator: "\n"))
    }
    Runs.report(problem, seed: seed, step: simulation.steps)
    #expect(simulation.delivered > 0, "seed \(seed) delivers nothing")
  }
}
