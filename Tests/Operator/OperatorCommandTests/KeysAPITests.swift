// SPDX-License-Identifier: Apache-2.0
import Bytes
import CommandKit
import EventLoop
import JSON
import ServiceKit
import Signing
import Telemetry
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct KeysAPITests {
  @Test func `a key is new each time, and the file has its SHA-256 alone`() throws {
    let folder = TemporaryFolder()
    let file = folder.file("keys.json")
    let keys = (0..<2).map { _ in APIKeyEntry.freshKey() }
    #expect(keys[0] != keys[1])
    for (index, key) in keys.enumerated() {
      #expect(key.wholeMatch(of: #/martlet_[0-9a-f]{64}/#) != nil)
      let entry = APIKeyEntry(name: "team \(index)", apps: ["com.example.app"])
      try APIKeyEntry.add(entry.json(of: key), named: entry.name, to: file)
    }
    let text = String(decoding: try File.read(file), as: UTF8.self)
    for key in keys { #expect(!text.contains(key)) }
    let entries = try #require(try JSONParser().parse(text).array)
    #expect(entries.map { $0["name"]?.string } == ["team 0", "team 1"])
    let digest = SHA256Digest.of(keys[1]).map {
      $0 < 16 ? "0" + String($0, radix: 16) : String($0, radix: 16)
    }
    #expect(entries[1]["sha256"]?.string == digest.joined())
  }

  @Test(arguments: [("90d", 90 * 86_400_000), ("1h", 3_600_000), ("0s", nil)])
  func `a key ends after --expires-in, to the millisecond`(text: String, span: Int64?) throws {
    let folder = TemporaryFolder()
    let file = folder.file("keys.json")
    let values = try KeysAPICommand.values([
      "shop", "--apps", "com.example.shop", "--expires-in", text, "--file", file,
    ])
    let settings = try KeysAPICommand.settings(values)
    let before = WallClock.milliseconds()
    try APIKeyEntry.add(settings.entry.json(of: "a"), named: "shop", to: file)
    let after = WallClock.milliseconds()
    let entry = try #require(try JSONParser().parse(try File.read(file)).array?.first)
    guard let span else {
      #expect(entry["expires"] == nil)
      return
    }
    let end = try #require(entry["expires"]?.string)
    #expect(end >= Timestamp.text(milliseconds: before + span))
    #expect(end <= Timestamp.text(milliseconds: after + span))
  }

  @Test
  func `an existing name and an invalid file are refused and left unchanged`() throws {
    let folder = TemporaryFolder()
    let file = folder.file("keys.json")
    let entry = APIKeyEntry(name: "team", apps: ["*"])
    try APIKeyEntry.add(entry.json(of: "a"), named: "team", to: file)
    let before = try File.read(file)
    #expect(throws: ServiceFailure.self) {
      try APIKeyEntry.add(entry.json(of: "b"), named: "team", to: file)
    }
    #expect(try File.read(file) == before)
    try File.write(file, Array("{}".utf8))
    #expect(throws: ServiceFailure.self) {
      try APIKeyEntry.add(entry.json(of: "b"), named: "other", to: file)
    }
    #expect(try File.read(file) == Array("{}".utf8))
  }
}
