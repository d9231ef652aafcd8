// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Records
import TestSupport
import Testing

/// Recorded faults, and only what somebody on call has: docs/runbook.md and the screens.
@Suite struct RunbookWalkTests {
  private static let folder = Repository.path("Tests/Fixtures/OnCall")

  /// File and seal of each case.
  private static func cases() throws -> [(file: String, seal: String)] {
    let text = try File.text("\(folder)/\(OnCallRecord.sealedFile)")
    return text.split(separator: "\n").map { line in
      let parts = line.split(separator: " ")
      return (String(parts[0]), String(parts[1]))
    }
  }

  @Test func `in every recorded case the runbook leads from the screens to the fault`() throws {
    let page = try Repository.text("docs/runbook.md")
    let walk = RunbookWalk(page: page)
    #expect(walk.rows.count == AlertedFault.all.count)
    var named: Set<String> = []
    for (file, seal) in try Self.cases() {
      let record = try JSONDocument(try File.read("\(Self.folder)/\(file)")).root
      let faults = walk.faults(in: record)
      #expect(faults.count == 1, "\(file): \(faults)")
      #expect(faults.first.map { OnCallRecord.seal($0, of: file) } == seal, "\(file): \(faults)")
      named.formUnion(faults)
    }
    #expect(named.count >= 5, "five different faults at least: \(named)")
  }

  @Test func `a record does not name its fault`() throws {
    for (file, _) in try Self.cases() {
      let text = try File.text("\(Self.folder)/\(file)")
      for fault in AlertedFault.all { #expect(!text.contains(fault.name), "\(file)") }
    }
  }
}
