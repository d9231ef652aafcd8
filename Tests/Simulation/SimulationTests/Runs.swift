// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

/// Which seeds a simulation runs, and how long each. The environment replays one or runs longer:
///
///     MARTLET_TEST_SEED=7 MARTLET_TEST_STEPS=5000000 swift test --skip-build --filter SimulationTests
enum Runs {
  /// The seeds: those of the test, or the one that was asked for.
  static func seeds(_ usual: ClosedRange<UInt64>) -> [UInt64] {
    if let seed = number("MARTLET_TEST_SEED") { return [seed] }
    return Array(usual)
  }

  /// Steps of one seed.
  static func steps(_ usual: Int) -> Int {
    number("MARTLET_TEST_STEPS").flatMap { Int(exactly: $0) } ?? usual
  }

  /// Reports what broke so that it can be run again.
  static func report(
    _ broken: String?, seed: UInt64, step: Int, at location: SourceLocation = #_sourceLocation
  ) {
    guard let broken else { return }
    Issue.record(
      "\(broken): seed \(seed), step \(step); replay with MARTLET_TEST_SEED=\(seed)",
      sourceLocation: location)
  }

  private static func number(_ name: String) -> UInt64? {
    getenv(name).flatMap { UInt64(String(cString: $0)) }
  }
}
