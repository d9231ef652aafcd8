// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Records
import ServiceKit
import Settings
import Telemetry
import TestSupport
import Testing

@testable import OperatorCommand

@Suite struct KeysAPITests {
  private let folder = TemporaryFolder()

  @Test func `a key is new each time, and the file has its SHA-256 alone`() throws {
    let file = folder.file("keys.json")
    let keys = (0..<2).map { _ in APIKeyEntry.freshKey() }
    #expect(keys[0] != keys[1])
    for (index, key) in keys.enumerated() {
      #expect(key.wholeMatch(of: #/martlet_[0-9a-f]{64}/#) != nil)
      let entry = APIKeyEntry(name: "team \(index)", apps: ["com.example.app"])
      try APIKeyEntry.add(entry.json(of: key), named: entry.name, to: file)
    }
    let text = try File.text(file)
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

  /// `martlet-api` refuses the file with such an entry.
  @Test func `a name that no file may have is refused`() throws {
    for name in ["", "a\nb", "a\u{85}", " a", String(repeating: "a", count: 65)] {
      #expect(throws: (any Error).self, "\(name)") {
        _ = try KeysAPICommand.settings(KeysAPICommand.values([name]))
      }
    }
    _ = try KeysAPICommand.settings(KeysAPICommand.values(["the shop"]))
  }

  /// `martlet-api` refuses the file with such an entry, and does not start with it.
  @Test func `a limit of bodies that no file may have is refused`() throws {
    func settings(_ size: String) throws -> KeysAPICommand.Settings {
      try KeysAPICommand.settings(KeysAPICommand.values(["shop", "--max-body", size]))
    }
    for size in ["1", "1023B"] {
      #expect(throws: SettingErrors.self, "\(size)") { _ = try settings(size) }
    }
    for size in ["0B", "1KiB", "1GiB"] { _ = try settings(size) }
  }

  @Test func `a pattern among apps is refused`() throws {
    for flag in ["--apps", "--read"] {
      let error = #expect(throws: SettingErrors.self) {
        _ = try KeysAPICommand.settings(KeysAPICommand.values(["shop", flag, "a.b,a.*"]))
      }
      #expect(error?.errors.first?.problem.contains("\"a.*\" is a pattern") == true)
    }
    _ = try KeysAPICommand.settings(KeysAPICommand.values(["shop", "--apps", "*", "--read", "*"]))
  }

  @Test func `apps that no request can be of are refused`() throws {
    for flag in ["--apps", "--read"] {
      let error = #expect(throws: SettingErrors.self) {
        _ = try KeysAPICommand.settings(KeysAPICommand.values(["shop", flag, "a.b a.c"]))
      }
      #expect(error?.errors.first?.problem.hasPrefix("\"a.b a.c\" is not a bundle id") == true)
      _ = try KeysAPICommand.settings(KeysAPICommand.values(["shop", flag, "a.b, a.c"]))
    }
  }

  @Test func `a file keeps its mode, owner and link`() throws {
    let (file, link) = (folder.file("keys.json"), folder.file("link.json"))
    try File.write(file, Array("[]".utf8), mode: 0o640)
    if geteuid() == 0 { #expect(chown(file, 61_234, 61_235) == 0) }
    #expect(symlink(file, link) == 0)
    let before = try FileExposure(file)
    let entry = APIKeyEntry(name: "team", apps: ["*"])
    try APIKeyEntry.add(entry.json(of: "a"), named: "team", to: link)
    #expect(try FileExposure(file) == before && before.mode == 0o640)
    #expect(try JSONParser().parse(try File.read(file)).array?.count == 1)
    #expect(unlink(link) == 0 && File.exists(file))
    // One that is new is its owner's alone.
    try APIKeyEntry.add(entry.json(of: "a"), named: "team", to: folder.file("new.json"))
    #expect(try FileExposure(folder.file("new.json")).mode == 0o600)
  }

  @Test func `two commands at once lose no entry`() throws {
    let file = folder.file("keys.json")
    @Sendable func add(_ owner: String) {
      for number in 0..<50 {
        let entry = APIKeyEntry(name: "\(owner) \(number)", apps: ["*"])
        try? APIKeyEntry.add(entry.json(of: entry.name), named: entry.name, to: file)
      }
    }
    let thread = try LoopThread(name: "other") { add("other") }
    add("own")
    thread.join()
    #expect(try JSONParser().parse(try File.read(file)).array?.count == 100)
  }

  @Test
  func `an existing name and an invalid file are refused and left unchanged`() throws {
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

  @Test func `a key that cannot be shown has no entry, and one without an entry is not shown`()
    throws
  {
    let file = folder.file("keys.json")
    let entry = APIKeyEntry(name: "team", apps: ["*"])
    #expect(throws: ServiceFailure.self) {
      try APIKeyEntry.add(entry.json(of: "a"), named: "team", to: file) {
        () throws(ServiceFailure) in
        throw ServiceFailure("no space")
      }
    }
    #expect(!File.exists(file))
    var shown = 0
    try APIKeyEntry.add(entry.json(of: "a"), named: "team", to: file) { shown += 1 }
    #expect(throws: ServiceFailure.self) {
      try APIKeyEntry.add(entry.json(of: "b"), named: "team", to: file) { shown += 1 }
    }
    #expect(shown == 1)
  }
}
