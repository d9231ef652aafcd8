// SPDX-License-Identifier: Apache-2.0
import Gateways
import Planning
public import ServiceKit
public import Settings

/// `martlet plan`: what a deployment needs for a rate.
public enum PlanCommand: Service {
  public struct Settings: DeclaredSettings, Sendable {
    var requests: [PlanRequest] = []
    var costs = MeasuredCosts.measured

    @Declared(
      .list(
        "rate", default: "10k,100k,1M",
        "Notifications per second at the peak; k is thousand, M million. Several are columns."))
    fileprivate var rates: [String]

    @Declared(
      .text(
        "latency", default: "lognormal:50ms,400ms",
        "How long APNs takes to answer: 50ms, or lognormal:P50,P99."))
    fileprivate var latency: String

    @Declared(
      .integer("bulk", default: 50, in: 0...100, "Percent of the notifications on the bulk lane."))
    fileprivate var bulk: Int

    @Declared(.integer("body", default: 262, in: 2...4_096, "Bytes of a payload."))
    fileprivate var body: Int

    @Declared(
      .integer(
        "used", default: 70, in: 1...100,
        "Percent of a core, and of what bounds a loop, that is used at the peak.")) fileprivate
      var used: Int

    @Declared(
      .integer(
        "streams", default: 1_000, in: 1...100_000,
        "Requests that APNs lets one connection have open.")) fileprivate var streams: Int

    @Declared(
      .integer(
        "max-in-flight", default: DispatchSettings().maxInFlight, in: 10...1_000_000,
        "Most notifications in a loop of a sender: its setting of the same name.")) fileprivate
      var maxInFlight: Int

    @Declared(
      .integer(
        "loops", default: 0, in: 0...10_000, "Sender loops, if they are given; 0 plans them."))
    fileprivate var loops: Int

    @Declared(
      .integer(
        "lane-partitions", default: 0, in: 0...10_000,
        "Partitions of each lane, if they are given; 0 plans them.")) fileprivate var partitions:
      Int

    @Declared(
      .text(
        "h2load", placeholder: "MICROSECONDS",
        "CPU of h2load per request on your machine, as benchmarks/run sender prints it; without it the plan is for the"
          + " machine that was measured.")) fileprivate var h2load: String?

    @Declared(
      .text(
        "sender-costs", placeholder: "PUSH,REQUEST,BATCH",
        "CPU microseconds of a sender on that machine, if you measured them again: of a notification, of one more request"
          + " to Kafka that brings records, and of one more batch of records (docs/sizing.md)."
      ))
    fileprivate
      var senderCosts: String?

    @Declared(.integer("seed", default: 1, "Seed of the simulation.")) fileprivate var seed: Int

    @Declared(.boolean("json", "Print one JSON object per rate.")) var printsJSON: Bool

    public init() {}
  }

  public static let name = "plan"
  public static let summary =
    "Prints what a rate needs: senders, cores, connections, partitions, memory, brokers and network, and how long"
    + " notifications take. From measured costs and a simulation (docs/sizing.md); connects to nothing."
  public static let reportsCounters = false
  public static let table = SettingTable(declaredBy: Settings.self)

  public static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    guard let answers = AnswerTimes(settings.latency) else {
      throw values.error("latency", "is neither a time nor lognormal:P50,P99")
    }
    for word in settings.rates {
      guard let rate = RateText.perSecond(word) else {
        throw values.error("rate", "\(word) is not a number such as 500, 10k or 1M")
      }
      settings.requests.append(request(settings, rate, answers))
    }
    if let text = settings.h2load {
      guard let cost = Double(text), (0.01...1_000).contains(cost) else {
        throw values.error("h2load", "must be a number of microseconds, such as 2.7")
      }
      settings.costs = settings.costs.scaled(h2load: cost)
    }
    if let text = settings.senderCosts {
      let costs = text.split(separator: ",", omittingEmptySubsequences: false).compactMap {
        Double($0).flatMap { (0...10_000).contains($0) ? $0 : nil }
      }
      guard costs.count == 3, costs[0] > 0 else {
        throw values.error(
          "sender-costs", "must be three numbers of microseconds, such as 2.2,220,25")
      }
      (settings.costs.sender, settings.costs.request, settings.costs.batch) = (
        costs[0], costs[1], costs[2]
      )
    }
    return settings
  }

  /// With the limits that a sender has by default.
  private static func request(
    _ settings: Settings, _ rate: Double, _ answers: AnswerTimes
  ) -> PlanRequest {
    var request = PlanRequest(rate: rate, answers: answers)
    request.bulkPercent = settings.bulk
    request.body = settings.body
    request.used = settings.used
    request.loops = settings.loops > 0 ? settings.loops : nil
    request.partitions = settings.partitions > 0 ? settings.partitions : nil
    request.limits.maxInFlight = settings.maxInFlight
    request.limits.streams = settings.streams
    request.seed = UInt64(truncatingIfNeeded: settings.seed)
    return request
  }

  public static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let plans = settings.requests.map { PipelinePlan($0, settings.costs) }
    guard !settings.printsJSON else {
      for plan in plans { StandardOutput.line(PlanText.json(plan)) }
      return
    }
    StandardOutput.write(PlanText.table(plans))
    StandardOutput.line("Costs measured on \(settings.costs.source). Formulas: docs/sizing.md.")
  }
}

/// Rates as people write them: `500`, `10k`, `1M`.
public enum RateText {
  /// Per second, 1 … 10,000,000; nil for another text.
  public static func perSecond(_ text: String) -> Double? {
    let factor = text.hasSuffix("k") ? 1_000.0 : text.hasSuffix("M") ? 1_000_000 : 1
    let digits = factor > 1 ? String(text.dropLast()) : text
    guard let number = Int(digits), digits.first?.isNumber == true else { return nil }
    let rate = Double(number) * factor
    return (1...10_000_000).contains(rate) ? rate : nil
  }
}
