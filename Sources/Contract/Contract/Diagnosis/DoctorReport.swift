// SPDX-License-Identifier: Apache-2.0

/// The findings of several programs, as one report: what more than one of them found stands once, and what they must
/// have in common is compared.
public struct DoctorReport: Sendable, Equatable {
  public struct Entry: Sendable, Equatable {
    public let finding: Finding
    /// The programs that found it.
    public internal(set) var programs: [String]
  }

  /// By subject, then in the order in which they were found.
  public let entries: [Entry]

  /// - Parameter results: of each program, in the order of the pipeline.
  public init(_ results: [(program: String, findings: [Finding])]) {
    var entries: [Entry] = []
    for (program, findings) in results {
      for finding in findings {
        if let index = entries.firstIndex(where: { $0.finding == finding }) {
          if !entries[index].programs.contains(program) { entries[index].programs.append(program) }
        } else {
          entries.append(Entry(finding: finding, programs: [program]))
        }
      }
    }
    entries += Self.differences(entries)
    self.entries = Finding.Subject.allCases.flatMap { subject in
      entries.filter { $0.finding.subject == subject }
    }
  }

  /// Settings that every program of a pipeline must have in common: a check states the value of each as its message.
  public static let shared = ["kafka", "topic-prefix"]

  private static func differences(_ entries: [Entry]) -> [Entry] {
    shared.compactMap { setting in
      let values = entries.filter {
        $0.finding.subject == .settings && $0.finding.place == setting && $0.finding.status == .ok
      }
      guard values.count > 1 else { return nil }
      if setting == "kafka", areOfOneCluster(values.map(\.finding.message)) { return nil }
      let words = values.map { "\($0.finding.message) (\($0.programs.joined(separator: ", ")))" }
      return Entry(
        finding: Finding(
          setting == "kafka" ? .warning : .error, .settings, setting,
          "differs between programs: \(words.joined(separator: "; "))",
          remedy: setting == "kafka"
            ? "give every program the same cluster" : "give every program the same \(setting)"),
        programs: values.flatMap(\.programs))
    }
  }

  /// True if each of these lists of addresses has one in common with the first: the order says nothing, and nobody need
  /// name every broker.
  private static func areOfOneCluster(_ lists: [String]) -> Bool {
    let addresses = lists.map { Set($0.split(separator: ",")) }
    return addresses.allSatisfy { !$0.isDisjoint(with: addresses[0]) }
  }

  public func count(_ status: Finding.Status) -> Int {
    entries.count { $0.finding.status == status }
  }

  /// `2 errors, 1 warning, 20 ok`
  public var summary: String {
    func words(_ count: Int, _ noun: String) -> String {
      "\(count) \(noun)\(count == 1 ? "" : "s")"
    }
    return
      "\(words(count(.error), "error")), \(words(count(.warning), "warning")), \(count(.ok)) ok"
  }
}
