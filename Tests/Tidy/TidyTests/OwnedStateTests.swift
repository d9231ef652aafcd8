// SPDX-License-Identifier: Apache-2.0
import Testing

/// Who may touch which state of the sender.
@Suite struct OwnedStateTests {
  private let repository = Repository()
  private var paths: [String] {
    repository.swiftPaths.filter { $0.hasPrefix("Sources/Sender/SenderDecisions/Dispatch/") }
  }

  @Test func `a value of the dispatcher has one file, so that nobody touches another's fields`() {
    var homes: [String: String] = [:]
    for path in paths {
      for line in repository.lines(path) {
        if let type = name(after: ["public struct ", "struct ", "public enum "], in: line) {
          homes[type] = path
        }
      }
    }
    #expect(homes["Dispatcher"] != nil && homes.count > 20)
    for path in paths {
      for line in repository.lines(path) {
        guard let type = name(after: ["extension "], in: line), let home = homes[type] else {
          continue
        }
        #expect(home == path, "\(path) extends \(type) of \(home)")
      }
    }
  }

  @Test func `at most fifteen functions of the dispatcher change two values beside their own`() {
    var functions = 0
    var found: [String] = []
    for path in paths {
      for piece in repository.text(path).split(separator: "func ").dropFirst() {
        functions += 1
        let signature = piece.prefix { $0 != "{" }
        if signature.split(separator: "inout ").count > 2 {
          found.append("\(path) \(piece.prefix { $0 != "(" })")
        }
      }
    }
    #expect(functions > 200)
    #expect(found.count <= 15, "\(found.joined(separator: ", "))")
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
    #expect(stored.count >= 3)
    for line in stored { #expect(!line.contains("public") || line.contains("static"), "\(line)") }
  }

  /// Whether a line begins a function that changes its value.
  private func isMutator(_ line: some StringProtocol) -> Bool {
    line.hasPrefix("  ") && line.contains("mutating func ")
  }

  /// The type that a line at the margin declares or extends.
  private func name(after words: [String], in line: some StringProtocol) -> String? {
    guard let word = words.first(where: line.hasPrefix) else { return nil }
    return String(line.dropFirst(word.count).prefix { $0.isLetter || $0.isNumber })
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
