// SPDX-License-Identifier: Apache-2.0
import Testing

/// Who may touch which state of the sender.
@Suite struct OwnedStateTests {
  private let repository = Repository()
  private var paths: [String] {
    repository.swiftPaths.filter { $0.hasPrefix("Sources/Sender/SenderDecisions/Dispatch/") }
  }

  @Test func `what a value of the dispatcher changes, nobody else can write`() {
    // What all that decides writes to.
    let output = "  var turn: Turn"
    for path in paths {
      let lines = repository.lines(path)
      #expect(!lines.contains { $0.contains("internal(set)") }, "\(path)")
      for body in lines.split(separator: "}") where body.contains(where: isMutator) {
        for line in body where line.hasPrefix("  ") && !line.hasPrefix("   ") && line != output {
          let isOpen = line.hasPrefix("  var ") || line.hasPrefix("  public var ")
          #expect(!isOpen || !isStored(line), "\(path): \(line)")
        }
      }
    }
  }

  @Test func `the sender sees of the dispatcher what it says, and nothing that it owns`() {
    let lines = repository.lines("Sources/Sender/SenderDecisions/Dispatch/Dispatcher.swift")
    let stored = lines.filter(isStored)
    #expect(!stored.isEmpty)
    for line in stored { #expect(!line.contains("public") || line.contains("static"), "\(line)") }
  }

  /// Whether a line begins a function that changes its value.
  private func isMutator(_ line: some StringProtocol) -> Bool {
    line.hasPrefix("  ") && line.contains("mutating func ")
  }

  /// Whether a line declares a property of a type at the margin that is no computed one.
  private func isStored(_ line: some StringProtocol) -> Bool {
    guard line.hasPrefix("  "), !line.hasPrefix("   ") else { return false }
    let words = line.split(separator: " ")
    guard let place = words.firstIndex(where: { $0 == "let" || $0 == "var" }) else { return false }
    let isDeclaration = words[..<place].allSatisfy {
      $0.hasPrefix("@") || ["private", "private(set)", "public", "nonisolated"].contains($0)
    }
    return isDeclaration && (!line.contains("{") || line.prefix { $0 != "{" }.contains("="))
  }
}
