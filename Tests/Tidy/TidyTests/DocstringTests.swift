// SPDX-License-Identifier: Apache-2.0
import Testing

/// Docstrings begin with a noun or a verb: "The time that a record waits", not "How long a record waits".
@Suite struct DocstringTests {
  /// The most docstrings, in percent, that may begin with a question word.
  private static let limit = 4

  private static let openings = ["What", "Who", "Whose", "Whether", "How", "Where"].map {
    "/// \($0) "
  }

  /// A number of docstrings, and of those among them that begin with a question word.
  private struct Count: Equatable {
    var all = 0
    var questions = 0
  }

  private func count(_ lines: [Substring]) -> Count {
    var count = Count()
    var isInside = false
    for line in lines {
      let text = line.drop { $0 == " " }
      let isDocumentation = text.hasPrefix("///")
      if isDocumentation, !isInside {
        count.all += 1
        if Self.openings.contains(where: { text.hasPrefix($0) }) { count.questions += 1 }
      }
      isInside = isDocumentation
    }
    return count
  }

  @Test func `a docstring counts once, by its first word`() {
    let lines: [Substring] = [
      "  /// Whether it is open.", "  var isOpen: Bool", "  /// The wait, or",
      "  /// What is left of it.",
      "  var wait: Int", "  // How it is done.", "  /// Whatever is left.",
    ]
    #expect(count(lines) == Count(all: 3, questions: 1))
  }

  @Test func `fewer than 4 % of the docstrings begin with a question word`() {
    let repository = Repository()
    var folders: [String: Count] = [:]
    for path in repository.swiftPaths where path.hasPrefix("Sources/") {
      let folder = path.split(separator: "/").dropFirst().dropLast().joined(separator: "/")
      let found = count(repository.lines(path))
      folders[folder, default: Count()].all += found.all
      folders[folder, default: Count()].questions += found.questions
    }
    let all = folders.values.reduce(0) { $0 + $1.all }
    let questions = folders.values.reduce(0) { $0 + $1.questions }
    let most = folders.sorted { $0.value.questions > $1.value.questions }.prefix(5)
    let names = most.map { "\($0.key): \($0.value.questions)" }.joined(separator: ", ")
    #expect(all > 1_000)
    #expect(questions * 100 < all * Self.limit, "\(questions) of \(all), most in \(names)")
  }
}
