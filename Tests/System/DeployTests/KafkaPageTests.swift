// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

/// docs/kafka.md, deploy/rights.sh and the table that the doctor uses say the same.
@Suite struct KafkaPageTests {
  private func lines(_ path: String) throws -> [Substring] {
    try Repository.text(path).split(separator: "\n", omittingEmptySubsequences: false)
  }

  private static let programs: [KafkaUser] = [
    .ingest, .sender, .feedback, .signer, .api, .webhooks, .scheduler, .canary,
  ]

  @Test func `the commands grant the rights of the table, and nothing else`() throws {
    let written = try lines("deploy/rights.sh").filter { $0.hasPrefix("kafka-acls.sh") }
      .map(String.init)
    let wanted = Self.programs.flatMap {
      KafkaRights(of: $0, TopicNames()).commands(user: "User:\($0.rawValue)")
    }
    #expect(written == wanted, "\(wanted.joined(separator: "\n"))")
  }

  @Test(arguments: programs)
  func `the table of users lists what each program reads and writes`(program: KafkaUser) throws {
    let rights = KafkaRights(of: program, TopicNames())
    let row = try #require(
      try lines("docs/kafka.md").first { $0.hasPrefix("| `\(program.rawValue)`") })
    let cells = row.split(separator: "|").map { cell in
      Set(
        cell.split(separator: "`", omittingEmptySubsequences: false).enumerated().compactMap {
          $0.offset % 2 == 1 ? String($0.element) : nil
        })
    }
    func topics(_ operation: KafkaRight.Operation) -> Set<String> {
      Set(
        rights.all.compactMap { right in
          guard case .topic(let name) = right.resource, right.operations.contains(operation) else {
            return nil
          }
          return name.hasPrefix("push.retries.") ? "push.retries.*" : name
        })
    }
    #expect(cells[1] == topics(.read))
    #expect(cells[2] == topics(.write))
    #expect(cells[3] == Set(program.group.map { TopicNames().group($0) }.map { [$0] } ?? []))
  }
}
