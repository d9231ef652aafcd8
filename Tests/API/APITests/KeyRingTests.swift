// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import ServiceKit
import Telemetry
import TestSupport
import Testing

@testable import API

/// The file of API keys while the process runs.
@Suite struct KeyRingTests {
  private let folder = TemporaryFolder()

  private func write(_ name: String, mode: UInt32 = 0o600) throws {
    let entry = #"[{"name":"\#(name)","sha256":"\#(APIFixture.digest(name))","apps":["*"]}]"#
    try File.write(folder.file("keys"), Array(entry.utf8), mode: mode)
  }

  private func refused(_ ring: KeyRing) -> [[String]] {
    ring.reloads.samples.filter { $0.value == .integer(1) }.map(\.labels)
  }

  @Test func `the check of the settings reads the file`() throws {
    let arguments = ["--keys", folder.file("keys")]
    try write("old")
    _ = try APISettings(APIService.values(arguments))
    try File.write(folder.file("keys"), Array("{}".utf8))
    let error = #expect(throws: (any Error).self) {
      try APISettings(APIService.values(arguments))
    }
    #expect(error.map { "\($0)".contains("is not a JSON array of keys") } == true)
  }

  @Test func `a file that others could change is used once its mode is corrected`() throws {
    try write("old")
    var ring = try KeyRing(folder.file("keys"), .test())
    ring.look(now: 0, isAsked: false)
    try write("new", mode: 0o666)
    for now in [500, 1_000] as [UInt64] { ring.look(now: now, isAsked: false) }
    #expect(refused(ring) == [["keys", ""]])
    #expect(ring.find("old") != nil && ring.find("new") == nil)
    // What the error asks for changes neither the content nor its time.
    #expect(chmod(folder.file("keys"), 0o600) == 0)
    ring.look(now: 10_500, isAsked: false)
    #expect(ring.find("new") == nil)
    ring.look(now: 11_000, isAsked: false)
    #expect(ring.find("new") != nil && ring.find("old") == nil)
    #expect(refused(ring).isEmpty)
  }

  @Test func `a check and the metric count the keys that are valid`() throws {
    func check(_ ends: [String]) throws -> Finding {
      let entries = ends.enumerated().map { index, end in
        #"{"name":"\#(index)","sha256":"\#(APIFixture.digest("\(index)"))","apps":["*"]\#(end)}"#
      }
      try File.write(folder.file("keys"), Array("[\(entries.joined(separator: ","))]".utf8))
      return APIService.keys(folder.file("keys"))
    }
    let expired = #","expires":"2020-01-01""#
    #expect(try check(["", expired]).message == "has one API key")
    #expect(try KeyRing(folder.file("keys"), .test()).valid == 1)
    let all = try check([expired, expired])
    #expect(all.status == .warning && all.message.contains("expired"))
    #expect(try check([]).message.hasPrefix("has no key:"))
  }
}
