// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Settings
import Synchronization
import Testing

@testable import ServiceKit

private let checked = Mutex<[Int]>([])

private enum CheckedService: Service {
  static let name = "checked"
  static let summary = "Finds as many errors as it is told."
  private static let errors = SettingKey<Int>.integer("errors", default: 0, "A number.")
  static let table = SettingTable([errors.setting])
  static let reportsCounters = false
  static func settings(_ values: SettingValues) throws(SettingErrors) -> Int {
    let count = values[errors]
    guard count != 13 else { throw values.error("errors", "must not be 13") }
    return count
  }
  static func check(_ count: Int, _ context: ServiceContext) -> [Finding] {
    checked.withLock { $0.append(count) }
    return [.warning(.clock, "here", "odd", remedy: "look")]
      + (0..<count).map { .error(.topic, "t\($0)", "missing", remedy: "create it") }
  }
  static func run(_ count: Int, _ context: ServiceContext) throws(ServiceFailure) {
    checked.withLock { $0.append(-1) }
  }
}

@Suite(.serialized) struct CheckupTests {
  private func status(_ arguments: String...) -> Int32 {
    ServiceRunner.run(CheckedService.self, program: "checked", arguments)
  }

  @Test func `0 with warnings, 1 with an error, 2 with invalid settings; the service never runs`() {
    checked.withLock { $0 = [] }
    #expect(status("--check") == 0)
    #expect(status("--check", "--errors", "2") == 1)
    #expect(status("--check", "--log-format", "json", "--errors", "1") == 1)
    #expect(status("--check", "--errors", "13") == 2)
    #expect(status("--check", "--errors", "x", "--log-format", "json") == 2)
    #expect(checked.withLock { $0 } == [0, 2, 1])
  }

  @Test func `a finding as JSON is read back; other lines are none`() {
    let parser = JSONParser()
    for status in Finding.Status.allCases {
      for subject in Finding.Subject.allCases {
        let finding = Finding(status, subject, "a \"b\"", "c\u{1B}[2J", remedy: "d\u{202E}")
        for programs in [[], ["ingest", "sender"]] {
          let line = FindingText.json(finding, programs: programs)
          #expect(!line.contains("\u{1B}") && !line.contains("\u{202E}") && !line.contains("\n"))
          #expect(FindingText.finding(line, parser) == finding)
        }
      }
    }
    for line in [
      "", "{}", "ok clock", #"{"time":"x","level":"error","msg":"y"}"#,
      #"{"status":"fine","subject":"clock","place":"","message":"","remedy":""}"#,
    ] { #expect(FindingText.finding(line, parser) == nil) }
  }
}
