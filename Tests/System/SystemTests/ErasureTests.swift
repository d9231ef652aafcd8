// SPDX-License-Identifier: Apache-2.0
import API
import Contract
import Crypto
import EventLoop
import Feedback
import HTTPClient
import Kafka
import Records
import Telemetry
import TestSupport
import Testing

/// What docs/tokens.md promises of a person who is erased: every file and every compacted topic is read afterwards.
@Suite struct ErasureTests {
  private static let name = "ann-example-of-nowhere"
  private static let tag = "tag-of-ann-alone"
  private static let gone = String(repeating: "0a", count: 32)
  private static let stays = String(repeating: "0b", count: 32)
  /// What is nowhere afterwards but in keys of tombstones.
  private static let traces = [name, tag, gone]

  private let rig: PipelineRig
  private let client = HTTPClient(timeoutMilliseconds: 30_000)

  init() throws { rig = try PipelineRig() }

  private func start() throws -> String {
    let digest = SHA256Digest.of("key").map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    let keys = rig.folder.file("keys.json")
    try File.write(keys, Array(#"[{"name":"key","sha256":"\#(digest)","apps":["*"]}]"#.utf8))
    let (tokens, schedule) = (rig.folder.file("tokens.sqlite"), rig.folder.file("schedule.sqlite"))
    try rig.start("martlet-ingest")
    try rig.start("martlet-feedback", ["--keep-receipts", "1h", "--database", tokens])
    try rig.start("martlet-scheduler", ["--database", schedule, "--devices", tokens])
    try rig.awaitServices(["martlet-ingest", "martlet-feedback", "martlet-scheduler"])
    #expect(
      rig["martlet-feedback"].prints(FeedbackLog.databaseComplete))
    try rig.start(
      "martlet-api",
      [
        "--keys", keys, "--listen", "127.0.0.1:0", "--http", "off", "--database", tokens,
        "--schedule-database", schedule,
      ])
    let api = rig["martlet-api"]
    return try #require(api.url(of: APILog.listening), "\(api.output)")
  }

  private func send(
    _ method: String, _ url: String, _ body: String? = nil
  ) throws -> (status: Int, text: String) {
    let answer = try client.send(
      method, url, body.map { Array($0.utf8) }, contentType: "application/json",
      headers: ["Authorization: Bearer key"])
    return (answer.status, answer.text)
  }

  /// The files below the folder of the databases that have one of the traces.
  private func files() throws -> [String] {
    ["tokens.sqlite", "schedule.sqlite"].flatMap { name in
      ["", "-wal", "-shm", "-journal"].map { name + $0 }
    }.filter { name in
      guard let bytes = try? File.read(rig.folder.file(name)) else { return false }
      let packed = Self.gone.utf8.count / 2
      let text = String(decoding: bytes, as: UTF8.self)
      let hasToken = bytes.indices.dropLast(packed).contains { start in
        bytes[start] == 0x0A && bytes[start..<start + packed].allSatisfy { $0 == 0x0A }
      }
      return hasToken || Self.traces.contains { text.contains($0) }
    }
  }

  /// What is left of a compacted topic when compaction has been through it: the last value of each key.
  private func compacted(_ topic: String) throws -> [String: String] {
    var content: [String: String] = [:]
    for record in try rig.configuration.readAll(topic) { content[record.key ?? ""] = record.value }
    return content
  }

  @Test
  func `nothing of a person is left in files and compacted topics, and nothing is sent to them`()
    throws
  {
    defer { rig.stop() }
    let url = try start()
    for (token, user, tag) in [(Self.gone, Self.name, Self.tag), (Self.stays, "bob", "x")] {
      let answer = try send(
        "PUT", "\(url)/v1/devices/\(token)",
        #"{"app":"com.example.app","user":"\#(user)","tags":["\#(tag)"]}"#)
      #expect(answer.status == 202, "\(answer.text)")
    }
    let due = Timestamp.text(milliseconds: WallClock.milliseconds() + 40_000)
    let targets = [
      #""user":"\#(Self.name)""#, #""users":["\#(Self.name)","bob"]"#, #""token":"\#(Self.gone)""#,
      #""tokens":["\#(Self.stays)","\#(Self.gone)"]"#, #""token":"\#(Self.stays)""#,
    ]
    for (number, target) in targets.enumerated() {
      let answer = try send(
        "POST", "\(url)/v1/notifications",
        #"{"id":"r\#(number)","app":"com.example.app",\#(target),"send_at":"\#(due)","#
          + #""payload":{"aps":{"alert":"x"}}}"#)
      #expect(answer.status == 202, "\(answer.text)")
    }
    func isScheduled(_ number: Int) throws -> Bool {
      try send("GET", "\(url)/v1/notifications/r\(number)?app=com.example.app").text
        .contains("\"scheduled\"")
    }
    try expectEventually {
      try targets.indices.allSatisfy { try isScheduled($0) }
        && send("GET", "\(url)/v1/users/\(Self.name)").text.contains(Self.gone)
    }
    #expect(try files().isEmpty == false)
    var erased = try send("DELETE", "\(url)/v1/users/\(Self.name)")
    // Until the scheduler has noted that its database is complete.
    _ = try eventually {
      if erased.status == 503 { erased = try send("DELETE", "\(url)/v1/users/\(Self.name)") }
      return erased.status != 503
    }
    #expect(erased.text == #"{"status":202,"devices":1,"scheduled":4,"has_more":false}"# + "\n")
    var left: [String] = []
    let isClean = try eventually(withinMilliseconds: 90_000, pauseMilliseconds: 1_000) {
      left = try files()
      return left.isEmpty
    }
    #expect(isClean, "\(left)")
    #expect(try compacted(rig.names.devices).keys.contains { $0.contains(Self.stays) })
    for topic in [rig.names.devices, rig.names.invalidTokens, rig.names.schedule] {
      for (key, value) in try compacted(topic) {
        #expect(!Self.traces.contains { key.contains($0) || value.contains($0) }, "\(topic) \(key)")
      }
    }
    // What was scheduled is sent to the others, and not to them.
    var sent: [String: [String]] = [:]
    _ = try rig.read(
      rig.names.notifications(.first),
      { record in
        let fields = (record.value ?? "").split(separator: "\t", omittingEmptySubsequences: false)
        for number in targets.indices where fields.contains("r\(number)") {
          sent["r\(number)", default: []].append(record.key ?? "")
        }
      }, until: { sent.count >= 3 })
    #expect(sent == ["r1": [Self.stays], "r3": [Self.stays], "r4": [Self.stays]])
  }
}
