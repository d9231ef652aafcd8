// SPDX-License-Identifier: Apache-2.0

/// A row of benchmarks/results, with `martlet broker` in Kafka's place.
public struct MeasuredRun: Sendable, Equatable {
  /// `fetch.wait.max.ms` and `linger.ms` of these runs, in milliseconds: that broker bounds the one, and `martlet up` and
  /// the benchmarks set the other.
  public static let fetchWait = 10.0
  public static let linger = 5.0

  public let file: String
  public let name: String
  /// CPU microseconds per notification; 0: not measured, as with every figure here.
  public let cpu: Double
  /// Notifications per second.
  public let rate: Double
  /// Latency in milliseconds.
  public let p50: Double
  public let p99: Double
  /// Notifications that a request asks for.
  public let fanOut: Double

  public init(
    _ file: String, _ name: String, cpu: Double = 0, rate: Double = 0, p50: Double = 0,
    p99: Double = 0, fanOut: Double = 0
  ) {
    self.file = file
    self.name = name
    self.cpu = cpu
    self.rate = rate
    self.p50 = p50
    self.p99 = p99
    self.fanOut = fanOut
  }
}

extension [MeasuredRun] {
  /// The row of this name, or else the first whose name begins so.
  public func find(_ file: String, _ name: String) -> MeasuredRun? {
    let rows = filter { $0.file == file }
    return rows.first { $0.name == name } ?? rows.first { $0.name.hasPrefix(name) }
  }
}
