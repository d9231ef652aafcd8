// SPDX-License-Identifier: Apache-2.0
import Glibc
import Simulation

/// Runs the simulation of the decisions that ship: `scripts/simulate` builds and starts it.
@main struct Main {
  /// The runs that the command line asks for.
  private struct Plan {
    var steps = 100_000
    var seeds: UInt64 = 10
    var first = UInt64.random(in: 1...1_000_000_000)
    /// Events shown of a run that fails.
    var last = 40
    /// Runs that fail before it stops.
    var failures = Int.max
  }

  private static let help = """
    usage: scripts/simulate [options]    docs/guarantees.md describes what is simulated
      --steps N       steps of each seed (100000)
      --seeds N       seeds to run (10), the first one at random
      --seed N        this seed alone
      --last N        events shown of a run that fails (40)
      --failures N    stop after so many failed runs
      --mutations     run deliberate defects instead: are they found?
    """

  static func main() {
    var plan = Plan()
    var arguments = CommandLine.arguments.dropFirst()
    while let option = arguments.popFirst() {
      if option == "--help" { return print(help) }
      guard let text = arguments.popFirst(), let number = UInt64(text) else {
        return end("\(option) needs a number")
      }
      switch option {
      case "--steps": plan.steps = Int(number)
      case "--seeds": plan.seeds = number
      case "--seed": (plan.first, plan.seeds) = (number, 1)
      case "--last": plan.last = Int(number)
      case "--failures": plan.failures = Int(number)
      default: return end("unknown option \(option)\n\(help)")
      }
    }
    run(plan)
  }

  private static func run(_ plan: Plan) {
    let clock = ContinuousClock()
    let start = clock.now
    var (done, records, failed) = (0, 0, 0)
    for seed in plan.first..<plan.first + plan.seeds where failed < plan.failures {
      var simulation = Simulation(seed: seed)
      let problem = simulation.run(steps: plan.steps)
      done += simulation.steps
      records += simulation.records
      let text = problem ?? "ok"
      print(
        "seed \(seed), \(simulation.steps) steps: \(simulation.notifications) notifications, \(simulation.delivered) delivered; \(text)"
      )
      fflush(nil)
      guard problem != nil else { continue }
      failed += 1
      for event in plan.last == 0
        ? [] : Simulation.trace(seed: seed, steps: plan.steps, last: plan.last)
      {
        print("  \(event)")
      }
      print("  again: scripts/simulate --seed \(seed) --steps \(plan.steps)")
    }
    let elapsed = (clock.now - start).components
    let seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
    print(
      "\(done) steps, \(Int(Double(done) / seconds)) per second; \(records) records; \(failed) seeds failed"
    )
    if failed > 0 { exit(1) }
  }

  private static func end(_ text: String) {
    print("martlet-simulate: \(text)")
    exit(2)
  }
}
