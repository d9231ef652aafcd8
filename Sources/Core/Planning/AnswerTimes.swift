// SPDX-License-Identifier: Apache-2.0

public import Random
internal import Settings

/// The time that APNs takes to answer, in milliseconds: always the same time, or log-normal.
public struct AnswerTimes: Sendable, Equatable {
  /// Half of the answers take no longer.
  public let median: Double
  /// 99 % of the answers take no longer.
  public let p99: Double
  /// 99 % of a normal distribution lie below this many standard deviations.
  private static let deviationsToP99 = 2.326_348

  /// - Parameters:
  ///   - median: above 0.
  ///   - p99: at least the median.
  public init(median: Double, p99: Double) {
    precondition(median > 0 && p99 >= median)
    self.median = median
    self.p99 = p99
  }

  /// Reads `20ms` or `lognormal:20ms,200ms` (median and 99th percentile), as the simulator's `--latency` does.
  public init?(_ text: String) {
    let prefix = "lognormal:"
    let parts =
      text.hasPrefix(prefix) ? text.dropFirst(prefix.count).split(separator: ",") : [text[...]]
    let times = parts.compactMap { DurationText.milliseconds(of: String($0)) }
    guard times.count == parts.count, times.count == (text.hasPrefix(prefix) ? 2 : 1),
      let first = times.first, let last = times.last, first > 0, last >= first, last <= 60_000
    else { return nil }
    self.init(median: Double(first), p99: Double(last))
  }

  /// The standard deviation of the logarithm.
  private var sigma: Double { Logarithm.natural(p99 / median) / Self.deviationsToP99 }

  /// The mean: median × e^(σ²/2).
  public var mean: Double { median * Logarithm.exponential(sigma * sigma / 2) }

  /// One time, at most a minute.
  public func draw(_ random: inout SeededGenerator) -> Double {
    guard p99 > median else { return median }
    return min(60_000, median * Logarithm.exponential(sigma * Self.deviation(&random)))
  }

  /// A normally distributed number, by Marsaglia's polar method.
  private static func deviation(_ random: inout SeededGenerator) -> Double {
    while true {
      let x = 2 * random.share() - 1
      let y = 2 * random.share() - 1
      let square = x * x + y * y
      if square > 0, square < 1 {
        return x * (-2 * Logarithm.natural(square) / square).squareRoot()
      }
    }
  }
}

/// The natural logarithm and its inverse, for which Swift needs a C library; to about 12 digits.
enum Logarithm {
  private static let ofTwo = 0.693_147_180_559_945_3

  /// - Parameter value: above 0 and finite.
  static func natural(_ value: Double) -> Double {
    precondition(value > 0 && value.isFinite)
    // value = significand × 2^exponent; ln of the significand by the series of the inverse hyperbolic tangent.
    let ratio = (value.significand - 1) / (value.significand + 1)
    let square = ratio * ratio
    var sum = 0.0
    var term = ratio
    for odd in stride(from: 1.0, through: 25, by: 2) {
      sum += term / odd
      term *= square
    }
    return 2 * sum + Double(value.exponent) * ofTwo
  }

  /// - Parameter power: between -700 and 700.
  static func exponential(_ power: Double) -> Double {
    let bounded = min(700, max(-700, power))
    let exponent = (bounded / ofTwo).rounded()
    let rest = bounded - exponent * ofTwo
    var sum = 1.0
    var term = 1.0
    for number in 1...12 {
      term *= rest / Double(number)
      sum += term
    }
    return sum * Double(sign: .plus, exponent: Int(exponent), significand: 1)
  }
}
