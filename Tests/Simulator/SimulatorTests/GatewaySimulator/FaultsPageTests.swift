// SPDX-License-Identifier: Apache-2.0
import EventLoop
import GatewayModel
import GatewaySimulator
import Glibc
import TestSupport
import Testing

/// The parts of the page that are made from declarations: the tables of faults, profiles and behaviours, and
/// the examples.
enum FaultsPage {
  static let path = Repository.path("docs/simulator.md")

  static func example(_ fault: Fault) -> String { #"{"id": "\#(fault)", \#(fault.example)}"# }

  private static func row(_ fault: Fault) -> String {
    let stages = fault.stages.map { "\($0)" }.joined(separator: ", ")
    return "| `\(fault)` | \(fault.title) | \(stages) | \(fault.fields) |"
  }

  /// The page with the lines that are like a row or like an example made again.
  static func made(from page: String) -> String {
    var lines = page.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    replace(&lines, with: Fault.all.map(row)) { line in
      Fault.all.contains { line.hasPrefix("| `\($0)` |") }
    }
    replace(&lines, with: Fault.all.map(example)) { $0.hasPrefix("{\"id\": ") && $0.hasSuffix("}") }
    replaceTable(&lines, with: ProfileReport.text, header: ProfileReport.header)
    replaceTable(&lines, with: BehaviourReport.text, header: BehaviourReport.header)
    return lines.joined(separator: "\n")
  }

  /// Replaces the lines from the table's header to the next empty one.
  private static func replaceTable(_ lines: inout [String], with text: String, header: String) {
    guard let start = lines.firstIndex(of: header), let end = lines[start...].firstIndex(of: "")
    else { return }
    let rows = text.split(separator: "\n").map { String($0) }
    lines.replaceSubrange(start..<end, with: rows)
  }

  private static func replace(
    _ lines: inout [String], with others: [String], where isOld: (String) -> Bool
  ) {
    guard let place = lines.firstIndex(where: isOld) else { return }
    lines.removeAll(where: isOld)
    lines.insert(contentsOf: others, at: place)
  }
}

@Suite struct FaultsPageTests {
  @Test func `the page of faults is what their declarations say`() throws {
    let page = try File.text(FaultsPage.path)
    let made = FaultsPage.made(from: page)
    #expect(Fault.all.allSatisfy { made.contains(FaultsPage.example($0)) })
    #expect(made.contains(ProfileReport.text))
    #expect(made.contains(BehaviourReport.text))
    if getenv("MARTLET_WRITE_DOCS") != nil, let file = fopen(FaultsPage.path, "w") {
      fputs(made, file)
      fclose(file)
    } else {
      #expect(page == made, "out of date: scripts/docs writes it")
    }
  }
}
