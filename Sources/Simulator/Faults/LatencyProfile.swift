// SPDX-License-Identifier: Apache-2.0
import Random

/// The time that answers take. Times are in milliseconds.
public enum LatencyProfile: Sendable, Equatable {
  case constant(UInt64)
  /// Log-normal with this median and 99th percentile; the median is at least 1.
  case logNormal(median: UInt64, p99: UInt64)
  /// `slow` for this share (0 to 1) of the answers, `fast` for the others.
  case bimodal(fast: UInt64, slow: UInt64, share: Double)
  /// In each period nothing is answered for the first `duration` ms; what waits is answered then.
  case stall(period: UInt64, duration: UInt64)
  /// `initial` right after the connection was made, less and less until `duration` has passed.
  case slowStart(initial: UInt64, duration: UInt64)

  /// 99 % of a normal distribution lie below this many deviations.
  private static let deviationsToP99 = 2.326_348
  /// No answer is delayed longer than an hour.
  private static let longest = 3_600_000.0

  /// A delay for a request that came `elapsed` ms after the rule and `age` ms after its connection.
  func milliseconds(_ random: inout SeededGenerator, elapsed: UInt64, age: UInt64) -> UInt64 {
    switch self {
    case .constant(let time): return time
    case .logNormal(let median, let p99):
      let ratio = max(1, Double(p99) / Double(max(1, median)))
      let sigma = Exponential.logarithm(ratio) / Self.deviationsToP99
      let time = Double(median) * Exponential.power(sigma * random.deviation())
      return UInt64(min(time, Self.longest))
    case .bimodal(let fast, let slow, let share): return random.share() < share ? slow : fast
    case .stall(let period, let duration):
      let phase = elapsed % max(1, period)
      return phase < duration ? duration - phase : 0
    case .slowStart(let initial, let duration):
      guard age < duration else { return 0 }
      return UInt64(Double(initial) * Double(duration - age) / Double(duration))
    }
  }
}

extension SeededGenerator {
  /// About normally distributed with mean 0 and deviation 1: the sum of twelve even ones less six.
  /// Its tails end at ±6.
  fileprivate mutating func deviation() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += share() }
    return sum
  }
}

/// The two functions of the C library that a profile needs, for moderate numbers.
enum Exponential {
  /// e to the power of `x`, for −40 to 40; exact to about twelve digits.
  static func power(_ x: Double) -> Double {
    let x = min(max(x, -40), 40)
    // e^x = (e^(x/256))^256
    let small = x / 256
    var term = 1.0
    var sum = 1.0
    for step in 1...10 {
      term *= small / Double(step)
      sum += term
    }
    for _ in 0..<8 { sum *= sum }
    return sum
  }

  /// The natural logarithm of a number between 1 and e⁴⁰, by bisection.
  static func logarithm(_ x: Double) -> Double {
    var low = 0.0
    var high = 40.0
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if power(middle) < x { low = middle } else { high = middle }
    }
    return (low + high) / 2
  }
}
