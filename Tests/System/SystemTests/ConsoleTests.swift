// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import JSON
import Pipeline
import SystemTestSupport
import TestSupport
import Testing

/// The console as a person has it: in a browser, with the keyboard.
@Suite struct ConsoleTests {
  /// What Python/console.py finds to hold, in this order.
  private static let parts = [
    "the picture, and every process ready",
    "figures, picture and chart change while pushes flow",
    "Tab, Shift+Tab, Space and Enter reach and work everything", "light, dark and narrow",
    "a process that dies is shown, and that it is back",
    "figures, picture and chart change while pushes flow",
    "a page left open goes on when the console is back",
    "the browser complains of nothing, and asks nobody else",
  ]

  @Test
  func `a browser shows the pipeline live, with the keyboard alone, through deaths of processes`()
    throws
  {
    let folder = TemporaryFolder()
    let up = try BuiltProgram.start("martlet", ["up", "--dir", folder.file("up")], in: folder)
    #expect(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    let looked = try browse(
      "console.py",
      [
        folder.file("up/addresses.json"), "\(try #require(up.child("martlet-sender")))",
        "\(try #require(up.child("martlet", "console")))",
      ], in: folder)
    let held = looked.split(separator: "\n").filter { $0.hasPrefix("holds: ") }
    #expect(held.map { String($0.dropFirst(7)) } == Self.parts, "\(looked)")
    #expect(up.stop(withinMilliseconds: 60_000) == 0, "\(up.output)")
  }
  /// A page that is opened in the middle of any trouble of the alert table, with fields that are null, absent or huge,
  /// and names that look like markup: Python/console_states.py has the documents.
  @Test func `the page shows each trouble, and says when its figures are old`() throws {
    let folder = TemporaryFolder()
    try File.write(folder.file("addresses.json"), Array(#"{"metrics":{}}"#.utf8))
    let console = try BuiltProgram.start(
      "martlet",
      ["console", "--addresses", folder.file("addresses.json"), "--listen", "127.0.0.1:0"],
      in: folder)
    try #require(console.prints("url=http", withinMilliseconds: 30_000), "\(console.output)")
    let url = try #require(console.output.firstMatch(of: #/url=(http[^ \n]+)/#)?.1)
    let looked = try browse("console_states.py", [String(url)], in: folder)
    #expect(looked.split(separator: "\n").count { $0.hasPrefix("shows: ") } == 24, "\(looked)")
    #expect(console.stop() == 0, "\(console.output)")
  }

  /// A pipeline in trouble: the app's key is not one that APNs knows any more, then the gateway is gone.
  @Test(.timeLimit(.minutes(5)))
  func `a refused app and a gateway that is down are on the page and in the status, by name`()
    throws
  {
    let rig = try PipelineRig()
    defer { rig.stop() }
    try rig.startSimulator()
    try rig.startServices()
    for name in PipelineRig.services { try #require(rig.isUp(name), "\(rig[name].output)") }
    let pages = try ["martlet-ingest", "martlet-sender"].map {
      try #require(StatusPageURL.find(in: rig[$0].output))
    }
    let console = try BuiltProgram.start(
      "martlet", ["console", "--listen", "127.0.0.1:0"] + pages, in: rig.folder)
    defer { _ = console.stop() }
    try #require(console.prints("url=http", withinMilliseconds: 30_000), "\(console.output)")
    let url = try #require(console.output.firstMatch(of: #/url=(http[^ \n]+)/#)?.1)
    func status() throws -> (status: Int32, output: String) {
      try BuiltProgram.run(
        ChildProcess.sibling("martlet"), ["status", "--interval", "200ms"] + pages, in: rig.folder)
    }
    try rig.produce(rig.names.requests, 0..<1) { Self.request($0, app: "com.example.app") }
    #expect(try eventually(withinMilliseconds: 30_000) { try status().status == 0 })
    // Another app of the credential goes on, on every loop of the sender: only then is it not about the credential.
    // Canaries are known by the first eight digits of their tokens.
    let others = "0123456789abcdef".map { digit in
      "com.example.app,production,\(String(repeating: "c\(digit)", count: 32)),1s"
    }
    try rig.start(
      "martlet", ["--canary", others.joined(separator: " ")], as: "canary", subcommand: ["canary"])
    try rig.addGatewayFaults(
      #"[{"id":"any_answer","reason":"InvalidProviderToken","when":{"app":"com.example.chat"}}]"#)
    try rig.produce(rig.names.requests, 1..<20) { Self.request($0, app: "com.example.chat") }
    let words = "APNs refuses app com.example.chat with credential"
    let isNamed = try eventually(withinMilliseconds: 30_000) {
      let run = try status()
      return run.status == 3 && run.output.contains(words)
        && run.output.contains("InvalidProviderToken")
    }
    let last = try status()
    #expect(isNamed, "\(last.output)")
    _ = try browse(
      "console_live.py", [String(url), "Degraded", "com.example.chat", "InvalidProviderToken"],
      in: rig.folder)
    #expect(rig.stop("apns-simulator") == 0)
    try rig.produce(rig.names.requests, 20..<40) { Self.request($0, app: "com.example.app") }
    #expect(try eventually(withinMilliseconds: 60_000) { try status().status == 1 })
    _ = try browse("console_live.py", [String(url), "Blocked", "no connection"], in: rig.folder)
  }

  private static func request(_ number: Int, app: String) -> (String, String) {
    let token = PipelineRig.token(number)
    return (token, #"{"app":"\#(app)","token":"\#(token)","payload":{"aps":{"alert":"x"}}}"#)
  }

  /// Runs a script of Python/ with Chromium.
  ///
  /// - Returns: its output.
  private func browse(
    _ script: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> String {
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
    let python = "\(root)/.build/python/bin/python"
    guard File.exists(python) else { throw MissingProgram(name: python) }
    let place = "\(root)/Tests/System/SystemTests/Python/\(script)"
    let run = try BuiltProgram.run(
      python, ["-B", place, try SystemProgram.path("chromium")] + arguments, in: folder,
      withinMilliseconds: 400_000)
    #expect(run.status == 0, "\(run.output)")
    return run.output
  }
}
