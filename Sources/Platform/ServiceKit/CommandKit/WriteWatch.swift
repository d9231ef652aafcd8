// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop
public import Kafka
import Telemetry

/// Says why a command that writes stands: when Kafka has acknowledged nothing for some seconds it asks the cluster, names
/// the reason on standard error, and gives the command up if that lasts.
public struct WriteWatch {
  /// The cluster is asked again, and a reason that stays is said again, after so many milliseconds.
  private static let interval: UInt64 = 30_000
  private static let lookEvery: UInt64 = 5_000

  private let cluster: KafkaCluster
  private let topics: [String]
  private var standstill: Standstill
  private var throttled = KafkaThrottle.milliseconds
  private var reason: String?
  private var looksAt: UInt64 = 0
  private var saysAt: UInt64 = 0

  public init(_ cluster: KafkaCluster, _ topics: [String], standstill: Standstill = Standstill()) {
    (self.cluster, self.topics, self.standstill) = (cluster, topics, standstill)
  }

  /// To be called again and again while records wait, behind what takes Kafka's answers. Blocks for up to some seconds when
  /// Kafka stands still.
  ///
  /// - Parameter progress: the command's; it shows no time left meanwhile.
  ///
  /// Throws when nothing was acknowledged for too long.
  public mutating func look(
    _ standing: ProducerSnapshot, _ progress: inout ProgressLine?
  ) throws(ServiceFailure) {
    let now = MonotonicClock.milliseconds()
    let (answered, outstanding) = (standing.answered, standing.outstanding)
    switch standstill.look(answered: answered, outstanding: outstanding, now: now) {
    case .moving:
      if outstanding == 0 || reason == nil { throttled = KafkaThrottle.milliseconds }
    case .standing(let time):
      find(standing, now)
      say("Kafka has acknowledged nothing for \(time / 1_000) s: \(reason ?? "")", now, &progress)
      progress?.stand(for: standstill.total + time)
    case .resumed(let time):
      progress?.goOn(after: standstill.total)
      progress?.end()
      StandardError.line("Kafka acknowledges records again, after \(time / 1_000) s")
      (reason, saysAt, looksAt) = (nil, 0, 0)
      throttled = KafkaThrottle.milliseconds
    case .over(let time):
      looksAt = 0
      find(standing, now)
      progress?.end()
      throw ServiceFailure(
        "Kafka has acknowledged nothing for \(time / 1_000) s: \(reason ?? ""). It has \(answered) records;"
          + " \(outstanding) more were on their way, and may be stored or not")
    }
  }

  private mutating func find(_ standing: ProducerSnapshot, _ now: UInt64) {
    guard now >= looksAt else { return }
    looksAt = now + Self.lookEvery
    let found = cluster.obstacle(to: topics, standing, throttledBefore: throttled).reason
    if found != reason { (reason, saysAt) = (found, 0) }
  }

  private mutating func say(_ text: String, _ now: UInt64, _ progress: inout ProgressLine?) {
    guard now >= saysAt else { return }
    saysAt = now + Self.interval
    progress?.end()
    StandardError.line(TerminalText.plain(text))
  }
}
