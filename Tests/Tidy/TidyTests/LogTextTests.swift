// SPDX-License-Identifier: Apache-2.0
import Testing

/// A check that looks for a line of a log proves nothing once the line has other words. Swift looks for the cases of the
/// tables of log events; the benchmarks are in Python.
@Suite struct LogTextTests {
  private let repository = Repository()

  /// What the benchmarks look for.
  private var wanted: [Substring] {
    repository.text("benchmarks/measurements.py")
      .matches(of: #/(?m)^[A-Z_]+, [A-Z_]+ = "([^"]+)", "([^"]+)"$/#).flatMap { [$0.1, $0.2] }
  }

  @Test func `every log line that the benchmarks look for is an event of a program`() {
    let tables = repository.swiftPaths.filter { $0.hasSuffix("Log.swift") }.map(repository.text)
    #expect(wanted.count >= 4, "\(wanted)")
    for text in wanted where !tables.contains(where: { $0.contains("\"\(text)\"") }) {
      Issue.record("measurements.py looks for \"\(text)\", which no program logs")
    }
  }
}
