// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import ServiceKit
import TestSupport
import Testing

/// The walkthrough of docs/producing.md as a new user types it, against `martlet up`.
@Suite(.serialized) struct WalkthroughTests {
  /// A command of the page, and the JSON that it shows as its answer.
  private struct Step {
    let command: String
    var shown: String? = nil
  }

  private func steps(_ page: String) throws -> [Step] {
    var steps: [Step] = []
    for block in page.matches(of: #/```(sh|json)\n((?s).*?)\n```/#) {
      if block.1 == "sh" {
        steps.append(Step(command: String(block.2)))
      } else {
        try #require(!steps.isEmpty)
        steps[steps.count - 1].shown = String(block.2)
      }
    }
    return steps
  }

  /// `again` repeats `ask` for up to a minute, until the answer contains each of the given texts. A person types more
  /// slowly than a script, and has more of the machine: `sleep` takes twice as long.
  private static let functions = #"""
    sleep() { command sleep $(($1 * 2)); }
    contains() {
      local answer=$1 text
      shift
      for text; do [[ $answer == *"$text"* ]] || return 1; done
    }
    again() {
      local answer end=$((SECONDS + 60))
      while
        answer=$(ask) || true
        ! contains "$answer" "$@" && [ $SECONDS -lt $end ]
      do command sleep 0.2; done
      printf '%s\n' "$answer"
    }
    """#

  /// A step that waits before it asks is asked again: how long the services take is not promised.
  private func lines(of step: Step) throws -> String {
    let command = step.command
    if command.hasPrefix("receipt() { sleep") {
      let call = try #require(command.split(separator: "\n").last)
      let once = command.dropLast(call.count).replacing("receipt() {", with: "receipt_once() {")
      return #"\#(once)receipt() { eval "ask() { receipt_once $1; }"; again "$1"; }\#n\#(call)"#
    }
    if let shown = step.shown, command.hasPrefix("sleep") {
      let texts = try members(shown).map { "'\($0)'" }
      return "ask() { \(command)\n}\nagain \(texts.joined(separator: " "))"
    }
    // The campaign counts the devices that are in the database.
    if let devices = command.firstMatch(of: #/-X PUT .*"([^"]*\])"/#)?.1 {
      return #"""
        \#(command)
        ask() { curl -fsS --fail-early -H "$KEY" "\#(devices)?app=com.example.app" > /dev/null && echo all; }
        again all
        """#
    }
    return command
  }

  /// The members of an answer that are compared and are integers or plain strings, as written.
  private func members(_ answer: String) throws -> [String] {
    let isCampaign = try JSONParser().parse(answer)["campaign"] != nil
    return answer.matches(of: #/"([a-z_]+)":(?:"[^"\\']*"|[0-9]+)(?=[,}])/#)
      .filter { isCompared(String($0.1), ofCampaign: isCampaign) }.map { String($0.0) }
  }

  /// All commands in one shell, with a mark before the output of each.
  private func script(_ steps: [Step], in folder: String) throws -> String {
    var lines = ["set -eu", "cd '\(folder)'", Self.functions]
    for (index, step) in steps.enumerated() {
      lines += try ["printf '\\n@@%d\\n' \(index)", self.lines(of: step)]
    }
    return lines.joined(separator: "\n") + "\nprintf '\\n@@end\\n'\n"
  }

  @Test func `every line works, and is answered as the page says`() throws {
    let folder = TemporaryFolder()
    let up = try BuiltProgram.start(
      "martlet", ["up", "--dir", folder.file("martlet-up")], in: folder)
    try #require(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    let steps = try steps(try Documents.section("Walkthrough", of: "docs/producing.md"))
    try #require(steps.count > 10)
    let file = folder.file("walk.sh")
    try File.write(file, Array(script(steps, in: folder.path).utf8))
    let result = try BuiltProgram.run(
      try SystemProgram.path("bash"), [file], in: folder, withinMilliseconds: 400_000)
    #expect(result.status == 0, "\(result.output)")
    let parts = result.output.split(separator: "\n@@").map(String.init)
    for (index, step) in steps.enumerated() {
      guard let shown = step.shown else { continue }
      let part = try #require(parts.first { $0.hasPrefix("\(index)\n") }, "\(step.command)")
      let line = try #require(
        part.split(separator: "\n").last { $0.hasPrefix("{") }, "\(step.command)\n\(part)")
      compare(
        try JSONParser().parse(String(line)), try JSONParser().parse(shown), step.command)
    }
    #expect(up.stop() == 0, "\(up.output)")
  }

  /// README.md as a new user types it, but for the two commands at its beginning, which build everything.
  @Test
  func `the README's examples reach the pipeline beside which they are typed, and nobody else`()
    throws
  {
    let folder = TemporaryFolder()
    let up = try BuiltProgram.start(
      "martlet", ["up", "--dir", folder.file("martlet-up")], in: folder)
    try #require(up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000), "\(up.output)")
    let page = try Repository.text("README.md")
    let commands = page.matches(of: #/```sh\n((?s).*?)\n```/#).map { String($0.1) }
      .filter { !$0.contains("scripts/") && !$0.contains("benchmarks/") && !$0.contains(" up ") }
    let isSender = { (command: String) in command.hasPrefix("martlet-sender ") }
    try #require(commands.count == 5 && commands.count(where: isSender) == 1, "\(commands)")
    // The sender runs until the others are through.
    let lines =
      ["set -eu", "cd '\(folder.path)'"] + commands.filter { $0.hasPrefix(". ") }
      + commands.filter(isSender).map { "timeout 300 \($0) > sender.log 2>&1 &" }
      + ["for i in $(seq 600); do if grep -q ' ready$' sender.log; then break; fi; sleep 0.2; done"]
      + commands.filter { !isSender($0) && !$0.hasPrefix(". ") } + ["cat sender.log", "kill %1"]
    let file = folder.file("readme.sh")
    try File.write(file, Array((lines.joined(separator: "\n") + "\n").utf8))
    let result = try BuiltProgram.run(
      try SystemProgram.path("bash"), [file], in: folder, withinMilliseconds: 280_000)
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.contains(#""status":202"#), "\(result.output)")
    #expect(result.output.contains(" \(ServiceKitLog.ready.rawValue)\n"), "\(result.output)")
    #expect(!result.output.contains("push.apple.com"), "\(result.output)")
    #expect(up.output.contains("--config"), "the line that starts one more sender")
    #expect(up.stop() == 0, "\(up.output)")
    #expect(!File.exists(folder.file("martlet-up/env")), "no address outlives its listener")
  }

  /// Whether a member has the same value whenever it is asked for: times, and ids that Martlet makes, have not.
  private func isCompared(_ name: String, ofCampaign isCampaign: Bool) -> Bool {
    let own: Set = [
      "apns_id", "apns_ids", "created", "at", "timestamp", "registered_at", "invalid_since",
      "recorded_at", "cursor", "send_at", "ended_at", "addressed_per_second",
      "outcomes_per_second",
    ]
    // A campaign's reason counts the outcomes that were known when it stopped.
    return !own.contains(name) && !(isCampaign && name == "reason")
  }

  /// The same members, and the same values of those that are compared.
  private func compare(_ answer: JSONValue, _ expected: JSONValue, _ command: String) {
    switch (answer, expected) {
    case (.object(let answer), .object(let expected)):
      #expect(Set(answer.keys) == Set(expected.keys), "\(command)")
      let isCampaign = expected["campaign"] != nil
      for member in expected.members
      where isCompared(member.key, ofCampaign: isCampaign) {
        compare(answer[member.key] ?? .null, member.value, command)
      }
    case (.array(let answer), .array(let expected)):
      #expect(answer.count == expected.count, "\(command)")
      for (one, other) in zip(answer, expected) { compare(one, other, command) }
    default: #expect(answer == expected, "\(command)")
    }
  }
}
