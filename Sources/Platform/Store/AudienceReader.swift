// SPDX-License-Identifier: Apache-2.0
public import Contract

public struct AudiencePage: Equatable, Sendable {
  /// Their tokens as JSON strings with commas between them.
  public var tokens: [UInt8] = []
  public var count = 0
  /// The place of the last one, behind which the next page begins: its token, or a `TokenTopicCursor`; empty for none.
  public var last = ""

  public init() {}

  mutating func append(_ token: String) {
    if count > 0 { tokens.append(UInt8(ascii: ",")) }
    tokens.append(UInt8(ascii: "\""))
    tokens.append(contentsOf: token.utf8)
    tokens.append(UInt8(ascii: "\""))
    count += 1
    last = token
  }

  /// Appends a token that somebody wrote; nothing of one that is none.
  public mutating func append(_ text: Span<UInt8>) throws(DeviceToken.Problem) {
    let before = tokens.count
    if count > 0 { tokens.append(UInt8(ascii: ",")) }
    tokens.append(UInt8(ascii: "\""))
    do throws(DeviceToken.Problem) {
      try DeviceToken.append(text, to: &tokens)
    } catch {
      tokens.removeLast(tokens.count - before)
      throw error
    }
    tokens.append(UInt8(ascii: "\""))
    count += 1
  }
}

/// Reads audiences from the database of device tokens, beside its writer. Owned by one thread.
public final class AudienceReader {
  /// One audience, looked through once.
  private struct Prepared {
    let audience: Audience
    /// Its devices when it was prepared.
    let count: Int
    /// The versions of the app that are in it; nil for any.
    let versions: [String]?
  }

  /// The pages of an audience, or of its devices in some zones.
  private struct Pages {
    let audience: Audience
    let zones: CampaignWave.Zones?
    let page: Statement
    /// Bound after the first two parameters of a page.
    let values: [any BoundValue]
  }

  /// More versions of one app are not told apart.
  private static let mostVersions = 10_000

  private let database: Database
  /// Campaigns are asked about in turn: each audience is looked through once, and not again for each page.
  private var prepared: [Prepared] = []
  private var paged: [Pages] = []
  /// The most that are remembered of either; the oldest ones go.
  private static let mostKnown = 100

  /// Opens a database that exists: a file's path, or a `postgresql://` URL. Every question throws while it is not complete
  /// (`TableState`).
  public init(_ location: String) throws(StoreError) {
    database = try Database(reading: location, busyTimeout: 5_000, isPatient: true)
  }

  public func count(_ audience: Audience) throws(StoreError) -> Int {
    forget(audience)
    return try database.whileComplete { () throws(StoreError) in try prepare(audience).count }
  }

  /// Devices with tokens after one, at most `limit`; with `zones` only those in them.
  public func devices(
    _ audience: Audience, in zones: CampaignWave.Zones? = nil, after token: String, limit: Int
  ) throws(StoreError) -> AudiencePage {
    try database.whileComplete { () throws(StoreError) in
      try page(audience, in: zones, after: token, limit: limit)
    }
  }

  private func page(
    _ audience: Audience, in zones: CampaignWave.Zones?, after token: String, limit: Int
  ) throws(StoreError) -> AudiencePage {
    let pages = try pages(audience, zones)
    pages.page.bind(1, token: token)
    pages.page.bind(2, Int64(limit))
    pages.page.bindAll(from: 3, pages.values)
    var page = AudiencePage()
    page.tokens.reserveCapacity(min(limit, RequestRules.maximumTokens) * 67)
    while try pages.page.next() { page.append(pages.page.token(0)) }
    // The last page: who asks again begins with a new look.
    if page.count < limit { forget(audience) }
    return page
  }

  private func forget(_ audience: Audience) {
    prepared.removeAll { $0.audience == audience }
    paged.removeAll { $0.audience == audience }
  }

  /// A time zone as registrations name it, and how many devices of an audience do.
  public struct ZoneCount: Sendable, Equatable {
    public let zone: String
    public let devices: Int
  }

  /// The time zones that its devices name, those of most devices first, at most `CampaignWave.mostZones`.
  public func zones(_ audience: Audience) throws(StoreError) -> [ZoneCount] {
    try database.whileComplete { () throws(StoreError) in try namedZones(audience) }
  }

  private func namedZones(_ audience: Audience) throws(StoreError) -> [ZoneCount] {
    let (listed, values) = condition(audience, try preparedVersions(audience), from: 1)
    let statement = try database.prepare(
      """
      SELECT time_zone, count(*) FROM devices WHERE \(listed) AND time_zone IS NOT NULL
      GROUP BY time_zone ORDER BY count(*) DESC, time_zone LIMIT \(CampaignWave.mostZones)
      """)
    return try statement.bindAll(values).rows {
      ZoneCount(zone: $0.text(0), devices: Int($0.integer(1) ?? 0))
    }
  }

  /// Looks through all devices once.
  private func prepare(_ audience: Audience) throws(StoreError) -> Prepared {
    if let known = prepared.first(where: { $0.audience == audience }) { return known }
    var versions: [String]?
    let count: Int
    if let least = audience.leastVersion {
      let found = try self.versions(of: audience).filter {
        Audience.isVersion($0.name, atLeast: least)
      }
      versions = found.map(\.name)
      count = found.reduce(0) { $0 + $1.count }
    } else {
      let (counted, values) = condition(audience, nil, from: 1)
      let statement = try database.prepare("SELECT count(*) FROM devices WHERE \(counted)")
      count = Int(try statement.bindAll(values).firstInteger() ?? 0)
    }
    let made = Prepared(audience: audience, count: count, versions: versions)
    if prepared.count == Self.mostKnown { prepared.removeFirst() }
    prepared.append(made)
    return made
  }

  /// The versions in an audience; nil for any, which needs no look at the devices.
  private func preparedVersions(_ audience: Audience) throws(StoreError) -> [String]? {
    audience.leastVersion == nil ? nil : try prepare(audience).versions
  }

  private func pages(
    _ audience: Audience, _ zones: CampaignWave.Zones?
  ) throws(StoreError) -> Pages {
    if let known = paged.first(where: { $0.audience == audience && $0.zones == zones }) {
      return known
    }
    let (listed, values) = condition(audience, try preparedVersions(audience), zones, from: 3)
    let made = Pages(
      audience: audience, zones: zones,
      page: try database.prepare(
        "SELECT token FROM devices WHERE token > ?1 AND \(listed) ORDER BY token LIMIT ?2"),
      values: values)
    if paged.count == Self.mostKnown { paged.removeFirst() }
    paged.append(made)
    return made
  }

  /// The versions of the app that devices of an audience have, whatever version that asks for, and how many have each: SQL
  /// cannot compare them.
  private func versions(of audience: Audience) throws(StoreError) -> [(name: String, count: Int)] {
    let (counted, values) = condition(audience, nil, from: 1)
    let statement = try database.prepare(
      """
      SELECT app_version, count(*) FROM devices
      WHERE \(counted) AND app_version IS NOT NULL GROUP BY app_version LIMIT \(Self.mostVersions)
      """)
    return try statement.bindAll(values).rows {
      (name: $0.text(0), count: Int($0.integer(1) ?? 0))
    }
  }

  /// The condition of an audience in SQL, and the values of its parameters.
  ///
  /// - Parameter first: the number of the first one.
  private func condition(
    _ audience: Audience, _ versions: [String]?, _ zones: CampaignWave.Zones? = nil,
    from first: Int
  ) -> (sql: String, values: [any BoundValue]) {
    var values: [any BoundValue] = []
    func parameter(_ value: any BoundValue) -> String {
      values.append(value)
      return "?\(first + values.count - 1)"
    }
    func list(_ texts: [String]) -> String {
      "(" + texts.map { parameter($0) }.joined(separator: ", ") + ")"
    }
    var parts = [
      "app = \(parameter(audience.app))",
      "environment = \(parameter(audience.environment.description))",
      "registered_at IS NOT NULL", "(invalid_since IS NULL OR registered_at >= alive_from)",
    ]
    let types = audience.registrationTypes
    let named = "push_type IN \(list(types.compactMap(\.self)))"
    parts.append(types.contains(nil) ? "(push_type IS NULL OR \(named))" : named)
    if let locale = audience.locale {
      // Of a language all its locales.
      let length = locale.unicodeScalars.count + 1
      parts.append(
        "(locale = \(parameter(locale)) OR substr(locale, 1, \(length)) IN"
          + " \(list([locale + "_", locale + "-"])))")
    }
    if let bundle = audience.bundle {
      // A registration that names none is the app's own.
      parts.append(
        bundle == audience.app
          ? "(bundle IS NULL OR bundle = \(parameter(bundle)))"
          : "bundle = \(parameter(bundle))")
    }
    switch zones {
    case .these(let names): parts.append("time_zone IN \(list(names))")
    case .allBut(let names) where !names.isEmpty:
      parts.append("(time_zone IS NULL OR time_zone NOT IN \(list(names)))")
    case .allBut, nil: break
    }
    if let versions {
      parts.append(versions.isEmpty ? "1 = 0" : "app_version IN \(list(versions))")
    }
    if let time = audience.registeredSince {
      parts.append("registered_at >= \(parameter(time))")
    }
    parts += audience.tagsAll.map { hasTag(parameter(" \($0) ")) }
    if !audience.tagsAny.isEmpty {
      let any = audience.tagsAny.map { hasTag(parameter(" \($0) ")) }
      parts.append("(\(any.joined(separator: " OR ")))")
    }
    return (parts.joined(separator: " AND "), values)
  }

  /// - Parameter word: with a blank before and after it, as tags have between them.
  private func hasTag(_ word: String) -> String {
    "\(database.find)(' ' || tags || ' ', \(word)) > 0"
  }
}
