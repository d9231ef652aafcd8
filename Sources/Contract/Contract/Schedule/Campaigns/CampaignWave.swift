// SPDX-License-Identifier: Apache-2.0

/// The devices of an audience for which a local time is the same instant; they are addressed together.
public struct CampaignWave: Equatable, Sendable {
  public enum Zones: Equatable, Sendable {
    case these([String])
    /// All other devices, including those without a zone.
    case allBut([String])
  }

  /// Milliseconds since the epoch.
  public let startAt: Int64
  public let zones: Zones

  public init(startAt: Int64, zones: Zones) { (self.startAt, self.zones) = (startAt, zones) }

  /// The most zones of an audience that are distinguished.
  public static let mostZones = 1_000
}

extension CampaignPlan {
  /// A time by each device's local clock.
  public struct LocalTime: Equatable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00 by that clock.
    public let time: Int64
    /// The zone of devices whose zone is unknown: a name of the IANA database.
    public let zone: String

    public init(time: Int64, zone: String) { (self.time, self.zone) = (time, zone) }

    /// The largest offset ahead of UTC, in milliseconds (Pacific/Kiritimati).
    public static let furthestAhead: Int64 = 14 * 3_600_000

    /// The first instant at which this local time is reached anywhere.
    public var earliest: Int64 { time - Self.furthestAhead }

    /// The waves of an audience, in order. One of them always has all devices whose zone is unknown, those of the
    /// default zone, and those whose zone changes later.
    ///
    /// - Parameters:
    ///   - zones: the zones of the audience's devices.
    ///   - rules: returns nil for an unknown zone.
    /// - Returns: nil if the default zone is unknown.
    public func waves(_ zones: [String], rules: (String) -> ZoneRules?) -> [CampaignWave]? {
      guard let rest = rules(zone)?.instant(ofLocal: time) else { return nil }
      var named: [Int64: [String]] = [:]
      for zone in zones {
        guard let instant = rules(zone)?.instant(ofLocal: time), instant != rest else { continue }
        named[instant, default: []].append(zone)
      }
      var waves = named.map { CampaignWave(startAt: $0.key, zones: .these($0.value)) }
      waves.append(
        CampaignWave(startAt: rest, zones: .allBut(waves.flatMap { named[$0.startAt] ?? [] })))
      return waves.sorted { $0.startAt < $1.startAt }
    }
  }
}
