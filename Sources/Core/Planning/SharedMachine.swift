// SPDX-License-Identifier: Apache-2.0

/// The demo on a machine that its broker shares: the notifications per second at which all cores are busy.
public struct SharedMachine: Sendable, Equatable {
  /// CPU microseconds per notification of everything but the broker and the senders' requests to it.
  public let product: Double
  public let cores: Double
  private let senders: Int
  private let fanOut: Double
  private let costs: MeasuredCosts
  private static let partitions = 12

  /// - Parameters:
  ///   - demo: as it ran on `cores` cores, all of them busy, with `martlet broker`.
  ///   - broker: CPU microseconds per notification of `martlet broker`.
  public init(
    _ demo: MeasuredRun, senders: Int, cores: Int, broker: Double, _ costs: MeasuredCosts
  ) {
    let requests = SenderPrediction.measuredPart(
      rate: demo.rate, partitions: Self.partitions, senders: senders, costs)
    product = Double(cores) * 1e6 / demo.rate - broker - requests
    self.cores = Double(cores)
    self.senders = senders
    self.fanOut = demo.fanOut
    self.costs = costs
  }

  /// The load of the demo on Kafka at a rate.
  public func load(_ rate: Double) -> KafkaLoad {
    KafkaLoad.pipeline(
      "demo, \(senders) senders", rate: rate, senders: senders, fanOut: fanOut, isKeyed: false,
      lanes: 2)
  }

  /// Notifications per second if a request costs the broker so many CPU microseconds.
  public func rate(request: Double) -> Double {
    var low = 1.0
    var high = 1e6
    for _ in 0..<60 {
      let middle = (low + high) / 2
      if busy(middle, request: request) > cores * 1e6 { high = middle } else { low = middle }
    }
    return low
  }

  /// CPU microseconds that a request costs the broker if this rate takes all cores; the inverse of `rate`.
  public func request(rate: Double) -> Double {
    (cores * 1e6 - busy(rate, request: 0)) / load(rate).requests(.here)
  }

  /// CPU microseconds per second of everything.
  private func busy(_ rate: Double, request: Double) -> Double {
    let load = load(rate)
    let part = SenderPrediction.part(load, costs, .here)
    return rate * (product + part) + load.requests(.here) * request
  }
}
