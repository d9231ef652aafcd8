// SPDX-License-Identifier: Apache-2.0
import Glibc
import Simulation

/// Runs the simulation of the sender's decisions: `scripts/simulate` builds and starts it.
@main
struct Main {
  static func main() {
    var (steps, seeds, first) = (100_000, 10, UInt64.random(in: 1...1_000_000_000))
    var arguments = CommandLine.arguments.dropFirst()
    while let option = arguments.popFirst() {
      guard let text = arguments.popFirst(), let number = UInt64(text), number > 0 else {
        return end("\(option) needs a number above 0")
      }
      switch option {
      case "--steps": steps = Int(number)
      case "--seeds": seeds = Int(number)
      case "--seed": (first, seeds) = (number, 1)
      default: return end("unknown option \(option); there are --steps, --seeds and --seed")
      }
    }
    run(steps: steps, seeds: first..<first + UInt64(seeds))
  }

  private static func run(steps: Int, seeds: Range<UInt64>) {
    let clock = ContinuousClock()
    let start = clock.now
    var (done, failed) = (0, 0)
    for seed in seeds {
      var simulation = Simulation(seed: seed)
      let problem = simulation.run(steps: steps)
      done += simulation.steps
      let text = problem ?? "ok"
      print(
        "seed \(seed): \(simulation.notifications) notifications, \(simulation.delivered) delivered; \(text)"
      )
      if problem != nil { failed += 1 }
    }
    let seconds = Double((clock.now - start).components.seconds) + 0.001
    print("\(done) steps, \(Int(Double(done) / seconds)) per second; \(failed) seeds failed")
    if failed > 0 { exit(1) }
  }

  private static func end(_ text: String) {
    print("martlet-simulate: \(text)")
    exit(2)
  }
}
