// SPDX-License-Identifier: Apache-2.0
import Testing

/// Who may touch which state of the sender.
@Suite struct OwnedStateTests {
  private let repository = Repository()

  @Test func `a value of the dispatcher has one file, so that nobody touches another's fields`() {
    let paths = repository.swiftPaths.filter { $0.hasPrefix("Sources/Core/Dispatch/") }
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

  @Test func `no class of the sender's loop has more than twenty stored properties`() {
    var counts: [String: Int] = [:]
    for path in repository.swiftPaths where path.hasPrefix("Sources/Services/Sender/") {
      var type: String?
      for line in repository.lines(path) {
        if let next = name(after: ["final class "], in: line) { type = next }
        if line == "}" { type = nil }
        if let type, isStored(line) { counts[type, default: 0] += 1 }
      }
    }
    #expect(counts["SenderLoop"] ?? 0 > 10)
    for (type, count) in counts { #expect(count <= 20, "\(type) has \(count)") }
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
    return isDeclaration && !(line.hasSuffix("{") && !line.contains("="))
      && !(line.hasSuffix("}") && line.contains("{") && !line.contains("="))
  }
}
