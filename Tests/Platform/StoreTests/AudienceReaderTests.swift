// SPDX-License-Identifier: Apache-2.0
import Contract
import Store
import TestSupport
import Testing

/// Audiences in the database, on both kinds.
@Suite struct AudienceReaderTests {
  private let folder = TemporaryFolder()

  private static let app = "com.example.app"

  /// A device by its number, with what is said of it.
  private static func device(
    _ number: Int, app: String = app, environment: Environment = .production, at time: Int64 = 1_000
  ) -> DeviceKey {
    let digits = String(number)
    return DeviceKey(
      token: String(repeating: "a", count: 64 - digits.count) + digits, app: app,
      environment: environment)
  }

  private static func put(
    _ store: TokenStore, _ number: Int, _ details: DeviceDetails = .none, at time: Int64 = 1_000,
    app: String = app, environment: Environment = .production
  ) throws {
    try store.put(
      device(number, app: app, environment: environment),
      DeviceState(
        presence: .registered(at: time), mark: nil, details: details, history: DeviceHistory()))
  }

  /// The numbers of the devices in an audience, page by page.
  private static func read(_ reader: AudienceReader, _ audience: Audience) throws -> [Int] {
    var numbers: [Int] = []
    var last = ""
    while true {
      let page = try reader.devices(audience, after: last, limit: 2)
      let text = String(decoding: page.tokens, as: UTF8.self)
      let tokens = text.isEmpty ? [] : text.split(separator: ",").map { $0.dropFirst().dropLast() }
      #expect(tokens.count == page.count && page.last == tokens.last.map(String.init) ?? "")
      numbers += tokens.map { Int($0.drop { $0 == "a" })! }
      guard page.count == 2 else { break }
      last = page.last
    }
    #expect(try reader.count(audience) == numbers.count)
    return numbers.sorted()
  }

  @Test(arguments: DatabaseKind.allCases)
  func `an audience is what its conditions say`(_ kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 0)
    try store.setComplete(at: 1)
    try Self.put(store, 1)
    try Self.put(store, 2, DeviceDetails(locale: "de_AT", appVersion: "3.10", tags: "beta vip"))
    try Self.put(store, 3, DeviceDetails(locale: "de", appVersion: "3.9.1", tags: "vip"), at: 5_000)
    try Self.put(
      store, 4, DeviceDetails(pushType: "alert", locale: "den", bundle: "x.y", tags: "be ta"))
    try Self.put(store, 5, DeviceDetails(pushType: "voip", locale: "de"))
    try Self.put(store, 6, app: "com.example.other")
    try Self.put(store, 7, environment: .sandbox)
    try store.put(
      Self.device(8),
      DeviceState(
        presence: .registered(at: 1_000),
        mark: .init(since: 2_000, aliveFrom: 2_001, reason: "Unregistered", recordedAt: 2_000),
        details: .none, history: DeviceHistory()))
    try store.put(
      Self.device(9),
      DeviceState(
        presence: .removed(at: 1_000), mark: nil, details: .none, history: DeviceHistory()))
    let reader = try AudienceReader(location)
    func read(type: String = "alert", _ change: (inout Audience) -> Void = { _ in }) throws -> [Int]
    {
      var audience = Audience(app: Self.app, environment: .production, type: type)
      change(&audience)
      return try Self.read(reader, audience)
    }
    #expect(try read() == [1, 2, 3, 4])
    #expect(try read(type: "background") == [1, 2, 3, 4])
    #expect(try read(type: "voip") == [5])
    #expect(try read(type: "liveactivity") == [])
    #expect(try read { $0.locale = "de" } == [2, 3])
    #expect(try read { $0.locale = "de_AT" } == [2])
    #expect(try read { $0.leastVersion = "3.9" } == [2, 3])
    #expect(try read { $0.leastVersion = "3.10.0" } == [2])
    #expect(try read { $0.leastVersion = "4" } == [])
    #expect(try read { $0.bundle = "x.y" } == [4])
    #expect(try read { $0.bundle = Self.app } == [1, 2, 3])
    #expect(try read { $0.tagsAny = ["beta", "be"] } == [2, 4])
    #expect(try read { $0.tagsAll = ["vip", "beta"] } == [2])
    #expect(try read { $0.tagsAll = ["et"] } == [])
    #expect(try read { $0.registeredSince = 1_001 } == [3])
    #expect(try read { ($0.locale, $0.tagsAny) = ("de", ["it's", "vip"]) } == [2, 3])
  }

  @Test(arguments: DatabaseKind.allCases)
  func `an audience is read by its devices' time zones`(_ kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 0)
    try store.setComplete(at: 1)
    let zones = ["Europe/Berlin", "Asia/Tokyo", "Asia/Tokyo", "it's", nil, "Asia/Tokyo", "it's"]
    for (number, zone) in zones.enumerated() {
      try Self.put(store, number, DeviceDetails(appVersion: "\(number)", timeZone: zone))
    }
    let reader = try AudienceReader(location)
    var audience = Audience(app: Self.app, environment: .production, type: "alert")
    func read(_ zones: CampaignWave.Zones) throws -> [Int] {
      let page = try reader.devices(audience, in: zones, after: "", limit: 10)
      let tokens = String(decoding: page.tokens, as: UTF8.self).split(separator: ",")
      return tokens.map { Int($0.dropFirst().dropLast().drop { $0 == "a" })! }
    }
    #expect(try reader.zones(audience).map(\.zone) == ["Asia/Tokyo", "it's", "Europe/Berlin"])
    #expect(try read(.these(["Asia/Tokyo"])) == [1, 2, 5])
    #expect(try read(.these(["it's", "Europe/Berlin"])) == [0, 3, 6])
    #expect(try read(.allBut(["Asia/Tokyo", "Europe/Berlin"])) == [3, 4, 6])
    #expect(try read(.allBut([])) == [0, 1, 2, 3, 4, 5, 6])
    #expect(try read(.these(["UTC"])) == [])
    // Together with a version, which is looked up once for all.
    audience.leastVersion = "3"
    #expect(try reader.zones(audience).map(\.zone) == ["it's", "Asia/Tokyo"])
    #expect(try read(.these(["Asia/Tokyo"])) == [5] && read(.allBut(["it's"])) == [4, 5])
    #expect(try reader.count(audience) == 4)
  }

  @Test func `tags of the same look and other bytes are two audiences, asked for in turn`() throws {
    let location = try DatabaseKind.sqlite.location(in: folder)
    let store = try TokenStore(location, now: 0)
    try store.setComplete(at: 1)
    let tags = ["caf\u{E9}", "cafe\u{301}"]
    for (number, tag) in tags.enumerated() {
      try Self.put(store, number + 1, DeviceDetails(tags: tag))
    }
    let reader = try AudienceReader(location)
    for (number, tag) in tags.enumerated() {
      var audience = Audience(app: Self.app, environment: .production, type: "alert")
      audience.tagsAll = [tag]
      let page = try reader.devices(audience, after: "", limit: 10)
      #expect(page.count == 1 && page.last == Self.device(number + 1).token)
    }
  }

  @Test(arguments: DatabaseKind.allCases)
  func `an audience is looked through once, though another is asked for between its pages`(
    _ kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 0)
    try store.setComplete(at: 1)
    for number in 1...2 {
      try Self.put(store, number, DeviceDetails(appVersion: "\(number)"))
    }
    let reader = try AudienceReader(location)
    var audience = Audience(app: Self.app, environment: .production, type: "alert")
    audience.leastVersion = "1"
    var other = audience
    other.leastVersion = "2"
    let first = try reader.devices(audience, after: "", limit: 1)
    #expect(first.last == Self.device(1).token)
    try Self.put(store, 3, DeviceDetails(appVersion: "3"))
    #expect(try reader.devices(other, after: "", limit: 10).count == 2)
    // Its versions are those of the look at it.
    let next = try reader.devices(audience, after: first.last, limit: 10)
    #expect(next.count == 1 && next.last == Self.device(2).token)
    // Counting looks again.
    #expect(try reader.count(audience) == 3)
    #expect(try reader.devices(audience, after: "", limit: 10).count == 3)
  }

  @Test func `versions are compared number by number`() {
    func isAtLeast(_ version: String, _ least: String) -> Bool {
      Audience.isVersion(version, atLeast: least)
    }
    #expect(isAtLeast("3.10", "3.9") && !isAtLeast("3.9", "3.10"))
    #expect(isAtLeast("3", "3.0.0") && isAtLeast("3.0.0", "3"))
    #expect(isAtLeast("3.2.1 (45)", "3.2.1 (44)") && !isAtLeast("3.2.1 (45)", "3.2.2"))
    #expect(isAtLeast("99999999999999999999", "5") && !isAtLeast("", "1") && isAtLeast("x", ""))
  }
}
