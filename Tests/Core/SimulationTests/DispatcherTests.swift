// SPDX-License-Identifier: Apache-2.0
import Simulation
import Testing

/// The decisions that ship, in virtual time: what must hold is said at `Simulation`.
@Suite("The sender's dispatcher against models of Kafka and APNs")
struct DispatcherTests {
  @Test(
    "every notification has its outcome, and no rule is broken on the way",
    arguments: 1...8 as ClosedRange<UInt64>)
  func regressions(_ seed: UInt64) {
    for seed in Runs.seeds(seed...seed) { run(seed, Runs.steps(6_000)) }
  }

  @Test("the same with a seed that nobody has tried")
  func fresh() {
    let seed = UInt64.random(in: 1_000...1_000_000_000)
    print("simulation with the fresh seed \(seed)")
    run(seed, Runs.steps(20_000))
  }

  private func run(_ seed: UInt64, _ steps: Int) {
    var simulation = Simulation(seed: seed)
    let problem = simulation.run(steps: steps)
    Runs.report(problem, seed: seed, step: simulation.steps)
    #expect(simulation.delivered > simulation.notifications / 4, "seed \(seed) delivers nothing")
  }
}
