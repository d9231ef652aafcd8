// SPDX-License-Identifier: Apache-2.0
import Settings
import Testing

/// Values as people write them, with `UnitText`.
@Suite struct SettingValueTests {
  private func value(_ kind: Setting.Kind, _ text: String) -> SettingValue? {
    try? kind.value(of: text)
  }

  private func problem(_ kind: Setting.Kind, _ text: String) -> String? {
    do throws(ValueProblem) {
      _ = try kind.value(of: text)
      return nil
    } catch {
      return error.text
    }
  }

  @Test(arguments: [
    ("0", 0), ("0s", 0), ("200ms", 200), ("5s", 5_000), ("15m", 900_000), ("1h", 3_600_000),
    ("2d", 172_800_000), ("1h30m", 5_400_000), ("1d2h3m4s5ms", 93_784_005), ("0h0s", 0),
  ])
  func `a time is whole numbers with units, the largest first`(text: String, milliseconds: Int64) {
    #expect(DurationText.milliseconds(of: text) == milliseconds)
  }

  @Test(arguments: [
    "", "5", "5 s", "s", "-5s", "1.5s", "5S", "5sec", "99999999999999999d",
    "5\u{301}s", "30m1h", "1h1h", "1h30", "1h-30m", "1h 30m", "106751991167d24h",
  ])
  func `any other text is no time`(text: String) {
    #expect(DurationText.milliseconds(of: text) == nil)
  }

  @Test(arguments: [
    ("0", 0), ("4096", 4096), ("10B", 10), ("64KiB", 65_536), ("64MiB", 67_108_864),
    ("2GiB", 2_147_483_648),
  ])
  func `a size is a whole number with or without a unit`(text: String, bytes: Int) {
    #expect(ByteCountText.bytes(of: text) == bytes)
  }

  @Test(arguments: ["", "KiB", "64 KiB", "64kb", "-1", "1.5MiB", "9999999999999GiB"])
  func `any other text is no size`(text: String) { #expect(ByteCountText.bytes(of: text) == nil) }

  @Test(arguments: [0, 1, 200, 999, 1_000, 1_500, 60_000, 90_000, 3_600_000, 86_400_000])
  func `a time is printed in its largest whole unit and reads back`(milliseconds: Int64) {
    let text = DurationText.text(milliseconds: milliseconds)
    #expect(DurationText.milliseconds(of: text) == milliseconds)
  }

  @Test(arguments: [0, 1, 1_000, 1_024, 65_536, 1 << 20, 3 << 30])
  func `a size is printed in its largest whole unit and reads back`(bytes: Int) {
    #expect(ByteCountText.bytes(of: ByteCountText.text(bytes: bytes)) == bytes)
  }

  @Test func `whole numbers keep to their range`() {
    #expect(value(.integer(1...64), "1") == .integer(1))
    #expect(value(.integer(1...64), "64") == .integer(64))
    #expect(problem(.integer(1...64), "0") == "must be a whole number from 1 to 64")
    #expect(problem(.integer(1...64), "65") == "must be a whole number from 1 to 64")
    #expect(problem(.integer(0...Int.max), "x") == "must be a whole number from 0 on")
    #expect(problem(.integer(1...64), "1.0") != nil)
    #expect(problem(.integer(1...64), "") == "must not be empty")
  }

  @Test func `times and sizes keep to their ranges`() {
    #expect(value(.duration(100...5_000), "5s") == .duration(5_000))
    #expect(problem(.duration(100...5_000), "6s") == "must be from 100ms to 5s")
    #expect(problem(.duration(100...5_000), "6") == "must be a time such as 200ms, 5s, 15m or 1h")
    #expect(value(.bytes(1_024...4_096), "4KiB") == .bytes(4_096))
    #expect(problem(.bytes(1_024...4_096), "1") == "must be from 1KiB to 4KiB")
  }

  @Test func `a boolean has eight spellings`() {
    for text in ["true", "yes", "on", "1"] { #expect(value(.boolean, text) == .boolean(true)) }
    for text in ["false", "no", "off", "0"] { #expect(value(.boolean, text) == .boolean(false)) }
    #expect(problem(.boolean, "True") == "must be true or false")
  }

  @Test func `a choice lists its words when it refuses`() {
    let kind = Setting.Kind.choice(["faithful", "fast"])
    #expect(value(kind, "fast") == .text("fast"))
    #expect(problem(kind, "quick") == "must be one of faithful, fast")
  }

  @Test func `an endpoint that may be left out is one, or off`() throws {
    #expect(value(.endpointOrOff, "a:1") == .endpoints([Endpoint(host: "a", port: 1)]))
    #expect(value(.endpointOrOff, "off") == .endpoints([]))
    #expect(problem(.endpointOrOff, "none") == "must be host:port")
    let key = SettingKey<Endpoint?>.endpointOrOff("http", default: "a:1", "Where.")
    let table = SettingTable([key.setting])
    let values = try table.read(try CommandLineFlags(["--http", "off"], for: table))
    #expect(values[key] == nil)
    #expect(values.report == ["http = off (flag)"])
  }

  @Test func `a list is cut at commas and trimmed`() {
    #expect(value(.list, "a, b,c") == .list(["a", "b", "c"]))
    #expect(problem(.list, "a,,b") != nil)
    #expect(problem(.list, "a,") != nil)
  }

  @Test(arguments: [
    ("localhost:9092", "localhost", 9092), ("[::1]:443", "::1", 443), ("10.0.0.1:0", "10.0.0.1", 0),
  ])
  func `an endpoint is a host and a port`(text: String, host: String, port: UInt16) {
    #expect(value(.endpoint, text) == .endpoints([Endpoint(host: host, port: port)]))
    #expect(Endpoint(host: host, port: port).description == text)
  }

  @Test(arguments: [
    ("a:443", "a"), ("a:2197", "a:2197"), ("[::1]:443", "[::1]"), ("[::1]:2197", "[::1]:2197"),
  ])
  func `an authority has no port that https has by itself`(text: String, authority: String) throws {
    #expect(try Endpoint(parsing: text).httpsAuthority == authority)
  }

  @Test(arguments: [
    "localhost", "localhost:", "localhost:65536", "a:+1", ":9092", "::1:443", "https://a:443",
    "a b:1",
    "a:b", "[[m]]:3", "[a:1", "a]:1",
  ])
  func `any other text is no endpoint`(text: String) {
    #expect(problem(.endpoint, text)?.hasPrefix("must be host:port") == true)
  }

  @Test func `several endpoints are separated by commas`() {
    let two = [Endpoint(host: "a", port: 1), Endpoint(host: "b", port: 2)]
    #expect(value(.endpoints, "a:1,b:2") == .endpoints(two))
    #expect(problem(.endpoints, "a:1,b") != nil)
  }
}
