// SPDX-License-Identifier: Apache-2.0
import Waiting

/// A distribution of response times, in milliseconds.
public enum LatencyProfile: Sendable, Equatable {
  case constant(UInt64)
  /// Log-normal with this median (at least 1) and 99th percentile.
  case logNormal(median: UInt64, p99: UInt64)
  /// `slow` for this share (0 to 1) of the responses, `fast` for the others.
  case bimodal(fast: UInt64, slow: UInt64, share: Double)
  /// No responses for the first `duration` ms of each period; waiting ones are sent after that.
  case stall(period: UInt64, duration: UInt64)
  /// `initial` when the connection opens, decreasing to zero over `duration`.
  case slowStart(initial: UInt64, duration: UInt64)

  /// The number of standard deviations below which 99 % of a normal distribution lie.
  private static let deviationsToP99 = 2.326_348
  /// The longest delay: an hour.
  private static let longest = 3_600_000.0

  /// Returns a delay for a request `elapsed` ms after the rule's start and `age` ms after its connection's.
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
  /// Approximately normal with mean 0 and deviation 1: the sum of twelve uniform numbers minus six, within ±6.
  fileprivate mutating func deviation() -> Double {
    var sum = -6.0
    for _ in 0..<12 { sum += share() }
    return sum
  }
}

/// Replacements for the two C library functions that a profile needs, for moderate numbers.
enum Exponential {
  /// e to the power of `x`, for −40 to 40, accurate to about twelve digits.
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
