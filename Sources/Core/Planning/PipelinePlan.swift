// SPDX-License-Identifier: Apache-2.0
internal import Contract

/// The needs of a deployment for a rate: from measured costs by arithmetic, and from a simulation of one loop.
public struct PipelinePlan: Sendable {
  public let request: PlanRequest
  public let costs: MeasuredCosts
  /// Loops that the CPU asks for, and those that what one loop may hold asks for.
  public let loopsByCPU: Int
  public let loopsByInFlight: Int
  public let loops: Int
  /// Of each lane.
  public let partitions: Int
  /// CPU microseconds of a sender per notification.
  public let senderCost: Double
  public let loop: LoopSimulation.Report

  /// - Parameter costs: on the machines of the deployment (`MeasuredCosts.scaled`).
  public init(_ request: PlanRequest, _ costs: MeasuredCosts) {
    self.request = request
    self.costs = costs
    let share = Double(request.used) / 100
    loopsByInFlight = Self.up(
      request.rate * request.answers.mean / 1_000 / (Double(request.limits.open) * share))
    loopsByCPU = Self.loops(request.rate, costs, share)
    loops = request.loops ?? max(loopsByCPU, loopsByInFlight)
    // No fewer than topics have by default.
    partitions = request.partitions ?? max(12, Self.partitionsOfLoop * loops)
    senderCost = costs.sender(
      rate: request.rate / Double(loops), partitions: Self.up(Double(partitions) / Double(loops)),
      linger: MeasuredRun.linger)
    let rate = request.rate / Double(loops)
    let bulk = rate * Double(request.bulkPercent) / 100
    var simulation = LoopSimulation(
      .init(
        transactional: rate - bulk, bulk: bulk, answers: request.answers, cost: senderCost,
        limits: request.limits), seed: request.seed)
    loop = simulation.run(milliseconds: Self.simulated, warmUp: Self.warmUp)
  }

  /// Virtual milliseconds, and how many of them the connections have to open.
  private static let simulated = 9_000
  private static let warmUp = 5_000

  public var senders: Int { Self.up(Double(loops) / Double(request.loopsPerSender)) }
  public var connections: Int { loops * loop.connections }
  /// Requests that wait for APNs' answer at a time, by Little's law.
  public var streams: Double { request.rate * request.answers.mean / 1_000 }
  public var senderCores: Double { cores(senderCost) }
  public var ingestCores: Double { cores(costs.ingest) }
  public var ingests: Int { Self.up(ingestCores) }

  /// MiB of all senders and ingests: each loop as a sender with one.
  public var memory: Double {
    Double(loops) * costs.senderMiB + Double(ingests) * costs.ingestMiB
  }

  /// Bytes per second that producers write to Kafka, each record once.
  public var written: Double {
    request.rate
      * (request.requestBytes + request.notificationBytes + PlanRequest.receiptBytes)
  }

  public var brokers: Int {
    max(request.copies, Self.up(written * Double(request.copies) / request.brokerBytes))
  }

  /// Bits per second to APNs and back.
  public var up: Double {
    request.rate * (Double(request.body) + PlanRequest.pushOverhead) * 8
  }
  public var down: Double { request.rate * PlanRequest.answerBytes * 8 }

  private func cores(_ cost: Double) -> Double {
    request.rate * cost / 1e6 / (Double(request.used) / 100)
  }

  /// Loops that together have the CPU for a rate, if each is full: what comes in small batches at this rate is not what
  /// bounds it.
  private static func loops(_ rate: Double, _ costs: MeasuredCosts, _ share: Double) -> Int {
    let full = 1e6 / costs.sender
    let reading = costs.reading(
      rate: full, partitions: partitionsOfLoop, linger: MeasuredRun.linger)
    // Reading takes a part of each loop's core; whatever costs are given, some of the core is left.
    return up(rate * costs.sender / max(1e6 * share - reading, 1e5))
  }

  private static let partitionsOfLoop = 2

  private static func up(_ value: Double) -> Int { max(1, Int(value.rounded(.up))) }
}
