// SPDX-License-Identifier: Apache-2.0

/// Kafka clients of one process that find no broker while another client of the process does.
///
/// From 2.10 on librdkafka drops brokers that the cluster does not name, and one that answers while it starts names
/// none: a client that takes that answer looks for no broker again (librdkafka#5301). Nothing but a new client helps.
public struct StrandedClients: Sendable {
  /// Milliseconds. A connection that is lost is made again within a second or so, and metadata is asked for every ten.
  public static let patience: UInt64 = 60_000

  /// When each was first found so.
  private var since: [String: UInt64] = [:]

  public init() {}

  /// Notes what was found: to be called every ten seconds or so.
  ///
  /// - Parameter names: the clients that found no broker; nil if no client does, and so the cluster may be away.
  /// - Returns: one that has found none for as long as `patience`.
  public mutating func saw(_ names: Set<String>?, now: UInt64) -> String? {
    since = since.filter { names?.contains($0.key) == true }
    for name in names ?? [] where since[name] == nil { since[name] = now }
    return since.filter { now >= $0.value + Self.patience }.keys.min()
  }
}
