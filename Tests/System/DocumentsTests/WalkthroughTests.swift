// SPDX-License-Identifier: Apache-2.0
import Bytes
import EventLoop
import JSON
import ServiceKit
import SystemTestSupport
import TestSupport
import Testing

/// The walkthrough of docs/producing.md as a new user types it, against `martlet up`.
@Suite(.serialized) struct WalkthroughTests {
  /// A command of the page, and the JSON that it shows as its answer.
  private struct Step {
    let command: String
    let answer: JSONValue?
  }

  private func steps(_ page: String) throws -> [Step] {
    var steps: [Step] = []
    for block in page.matches(of: #/```(sh|json)\n((?s).*?)\n```/#) {
      if block.1 == "sh" {
        steps.append(Step(command: String(block.2), answer: nil))
      } else {
        let command = try #require(steps.last).command
        steps.removeLast()
        steps.append(Step(command: command, answer: try JSONParser().parse(String(block.2))))
      }
    }
    return steps
  }

  /// All commands in one shell, with a mark before the output of each.
  private func script(_ steps: [Step], in folder: String) -> String {
    // A person types more slowly than a script, and has more of the machine.
    var lines = ["set -eu", "cd '\(folder)'", "sleep() { command sleep $(($1 * 2)); }"]
    for (index, step) in steps.enumerated() {
      lines += ["printf '\\n@@%d\\n' \(index)", step.command]
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
      try SystemProgram.path("bash"), [file], in: folder, withinMilliseconds: 180_000)
    #expect(result.status == 0, "\(result.output)")
    let parts = result.output.split(separator: "\n@@").map(String.init)
    for (index, step) in steps.enumerated() {
      guard let expected = step.answer else { continue }
      let part = try #require(parts.first { $0.hasPrefix("\(index)\n") }, "\(step.command)")
      let line = try #require(
        part.split(separator: "\n").last { $0.hasPrefix("{") }, "\(step.command)\n\(part)")
      compare(try JSONParser().parse(String(line)), expected, step.command)
    }
    #expect(up.stop(withinMilliseconds: 60_000) == 0, "\(up.output)")
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
      + commands.filter(isSender).map { "timeout 60 \($0) > sender.log 2>&1 &" }
      + ["for i in $(seq 300); do if grep -q ' ready$' sender.log; then break; fi; sleep 0.2; done"]
      + commands.filter { !isSender($0) && !$0.hasPrefix(". ") } + ["cat sender.log", "kill %1"]
    let file = folder.file("readme.sh")
    try File.write(file, Array((lines.joined(separator: "\n") + "\n").utf8))
    let result = try BuiltProgram.run(
      try SystemProgram.path("bash"), [file], in: folder, withinMilliseconds: 180_000)
    #expect(result.status == 0, "\(result.output)")
    #expect(result.output.contains(#""status":202"#), "\(result.output)")
    #expect(result.output.contains(" \(ServiceKitLog.ready.rawValue)\n"), "\(result.output)")
    #expect(!result.output.contains("push.apple.com"), "\(result.output)")
    #expect(up.output.contains("--config"), "the line that starts one more sender")
    #expect(up.stop(withinMilliseconds: 60_000) == 0, "\(up.output)")
    #expect(!File.exists(folder.file("martlet-up/env")), "no address outlives its listener")
  }

  /// The same members, and the same values but for times and ids that Martlet makes.
  private func compare(_ answer: JSONValue, _ expected: JSONValue, _ command: String) {
    let own: Set = [
      "apns_id", "apns_ids", "created", "at", "timestamp", "registered_at", "invalid_since",
      "recorded_at", "cursor", "send_at", "ended_at", "addressed_per_second",
      "outcomes_per_second",
    ]
    switch (answer, expected) {
    case (.object(let answer), .object(let expected)):
      #expect(Set(answer.keys) == Set(expected.keys), "\(command)")
      // A campaign's reason counts the outcomes that were known when it stopped.
      let isCampaign = expected["campaign"] != nil
      for member in expected.members
      where !own.contains(member.key) && !(isCampaign && member.key == "reason") {
        compare(answer[member.key] ?? .null, member.value, command)
      }
    case (.array(let answer), .array(let expected)):
      #expect(answer.count == expected.count, "\(command)")
      for (one, other) in zip(answer, expected) { compare(one, other, command) }
    default: #expect(answer == expected, "\(command)")
    }
  }
}
