// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Glibc
import OperatorCommand
import Records
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
    #expect(up.stop() == 0, "\(up.output)")
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
    let url = try #require(console.url(of: OperatorLog.console), "\(console.output)")
    let looked = try browse("console_states.py", [url], in: folder)
    #expect(looked.split(separator: "\n").count { $0.hasPrefix("shows: ") } == 29, "\(looked)")
    #expect(console.stop() == 0, "\(console.output)")
  }

  /// Each fault of the alert table that can be made and taken back, on one pipeline: a page from before it and one that
  /// is opened during it show it and go on, and `martlet status` says the same.
  @Test(.timeLimit(.minutes(10)))
  func `a page goes on through faults of the alert table, and says what they are`() throws {
    let alerts = try AlertRig()
    let rig = alerts.rig
    try rig.startSimulator()
    try alerts.writeCertificate(days: 300)
    try alerts.startServices(
      sender: ["--certificates", alerts.certificates], underShim: "martlet-feedback")
    // On every loop of the sender, and of two apps: only then does a refusal of one not count for the credential.
    let canaries = ["app", "chat"].flatMap { app in
      "0123456789abcdef".map { digit in
        "com.example.\(app),production,\(String(repeating: "c\(digit)", count: 32)),2s"
      }
    }
    try rig.start(
      "martlet", ["--canary", canaries.joined(separator: " ")], as: "canary",
      subcommand: ["canary"])
    let file = try addresses(alerts)
    let console = try BuiltProgram.start(
      "martlet", ["console", "--addresses", file, "--listen", "127.0.0.1:0"], in: rig.folder)
    let url = try #require(console.url(of: OperatorLog.console), "\(console.output)")
    let steps = rig.folder.file("steps")
    try #require(mkdir(steps, 0o700) == 0)
    let browser = try start("console_incidents.py", [url, steps], in: rig.folder)
    var number = 0
    func expectShown(_ headline: String, _ texts: [String], _ name: String, opens: Bool) throws {
      number += 1
      let wanted: JSONValue = [
        "headline": .string(headline), "texts": .array(texts.map { .string($0) }),
        "opens": .bool(opens),
      ]
      try File.write("\(steps)/\(number).json", wanted.text)
      let begin = MonotonicClock.milliseconds()
      try #require(
        browser.prints("shows: \(number)\n", withinMilliseconds: 200_000),
        "\(name): \(browser.output) \(rig["martlet-sender"].output.suffix(2_000))")
      print("\(name): \(headline) after \(MonotonicClock.milliseconds() - begin) ms")
    }
    func expectStatus(_ status: Int32, _ name: String) throws {
      var run = (status: Int32(-1), output: "")
      let isSame = try eventually {
        run = try BuiltProgram.run(
          ChildProcess.sibling("martlet"), ["status", "--interval", "500ms", "--addresses", file],
          in: rig.folder)
        return run.status == status
      }
      #expect(isSame, "\(name): \(run)")
      #expect(!run.output.contains("destinations are blocked"), "\(name): \(run.output)")
    }
    try expectShown("Ready", [], "before", opens: true)
    try expectStatus(0, "before")
    for incident in ConsoleIncident.selected {
      try incident.begin(alerts)
      try expectShown(incident.headline, incident.texts, incident.name, opens: true)
      try expectStatus(incident.status, incident.name)
      try incident.end(alerts)
      if incident.name != ConsoleIncident.selected.last?.name {
        try expectShown("Ready", [], "after \(incident.name)", opens: false)
      }
    }
    try File.write("\(steps)/\(number + 1).json", Array("{}".utf8))
    #expect(browser.wait(withinMilliseconds: 30_000) == 0, "\(browser.output)")
    #expect(console.stop() == 0, "\(console.output)")
  }

  /// A file as `martlet up` writes it: a process is known by name also while it does not answer.
  private func addresses(_ alerts: AlertRig) throws -> String {
    let pages = try (PipelineRig.services + ["canary"]).map { name in
      let program = alerts.rig[name]
      expectEventually { StatusPageURL.find(in: program.output) != nil }
      return JSONObject.Member(
        key: name.replacing("martlet-", with: ""),
        value: .string(try #require(StatusPageURL.find(in: program.output))))
    }
    let file = alerts.rig.folder.file("addresses.json")
    let root = JSONObject([.init(key: "metrics", value: .object(JSONObject(pages)))])
    try File.write(file, JSONValue.object(root).text)
    return file
  }

  /// Runs a script of Python/ with Chromium.
  ///
  /// - Returns: its output.
  private func browse(
    _ script: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> String {
    let browser = try start(script, arguments, in: folder)
    let status = browser.wait(withinMilliseconds: 400_000)
    #expect(status == 0, "\(browser.output)")
    return browser.output
  }

  private func start(
    _ script: String, _ arguments: [String], in folder: TemporaryFolder
  ) throws -> BuiltProgram {
    let place = Repository.path("Tests/System/SystemTests/Python/\(script)")
    return try BuiltProgram.start(
      path: SystemProgram.python(),
      ["-B", place, try SystemProgram.path("chromium")] + arguments, in: folder)
  }
}
