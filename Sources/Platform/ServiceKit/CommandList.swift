// SPDX-License-Identifier: Apache-2.0
import Settings

/// The answer of a program with commands when no command was named, or an unknown one.
struct CommandList {
  /// The output of a process, and its exit status.
  struct Answer: Equatable {
    var output = ""
    var error = ""
    var status = ServiceRunner.done
  }

  private let program: String
  private let summary: String
  /// A command's words, such as `dead-letters list`, and what it does.
  private let commands: [(words: [String], summary: String)]
  private let overview: CommandOverview?

  /// - Parameter overview: what the help lists in place of the commands' summaries.
  init(
    program: String, summary: String, _ commands: [(name: String, summary: String)],
    overview: CommandOverview? = nil
  ) {
    self.program = program
    self.summary = summary
    self.overview = overview
    self.commands = commands.map {
      ($0.name.split(separator: " ").map(String.init), $0.summary)
    }
  }

  /// The arguments with `help COMMAND` as `COMMAND --help`.
  static func asked(_ arguments: [String]) -> [String] {
    guard arguments.first == "help", arguments.count > 1 else { return arguments }
    return arguments.dropFirst() + ["--help"]
  }

  /// Help for `--help` or nothing, for a family of commands such as `dead-letters` too; the version; or what is
  /// wrong, with the nearest command.
  func answer(_ arguments: [String], width: Int) -> Answer {
    let first = arguments.first ?? ""
    if ["--version", "-V", "version"].contains(first) {
      return Answer(output: Version.lines(program).map { "\($0)\n" }.joined())
    }
    let isFamily = commands.contains { $0.words.count > 1 && $0.words[0] == first }
    let family = isFamily ? [first] : []
    let next = arguments.dropFirst(family.count).first ?? ""
    if next.isEmpty {
      return Answer(error: help(family, width), status: ServiceRunner.misconfigured)
    }
    if ["--help", "-h", "help"].contains(next) { return Answer(output: help(family, width)) }
    let wrong = (family + [next]).joined(separator: " ")
    let scope = ([program] + family).joined(separator: " ")
    return Answer(
      error: "\(program): there is no command \(wrong)\(suggestion(arguments, family));"
        + " \(scope) --help lists them\n", status: ServiceRunner.misconfigured)
  }

  /// The command that was most likely meant, as far as it can be told.
  private func suggestion(_ arguments: [String], _ family: [String]) -> String {
    var meant = family
    for word in arguments.dropFirst(family.count).prefix(2) {
      let choices = commands.filter { $0.words.count > meant.count && $0.words.starts(with: meant) }
      let words = choices.map { $0.words[meant.count] }
      guard let near = Suggestion.nearest(to: word, among: words) else { break }
      meant.append(near)
    }
    return meant == family ? "" : " (did you mean \(meant.joined(separator: " "))?)"
  }

  /// - Parameter family: the first word of the commands to list, or nothing for all.
  private func help(_ family: [String], _ width: Int) -> String {
    let usage = ([program] + family + ["COMMAND"]).joined(separator: " ")
    var lines = ["Usage: \(usage) [--setting value …]", ""]
    let end = ["", "\(usage) --help describes a command.", ""]
    if family.isEmpty { lines += Paragraph.wrap(summary, indent: 0, width: width) + [""] }
    if family.isEmpty, let overview {
      return (lines + overview.lines(width: width) + end).joined(separator: "\n")
    }
    lines.append("Commands:")
    let listed = commands.filter { $0.words.starts(with: family) }.map {
      (name: $0.words.dropFirst(family.count).joined(separator: " "), summary: $0.summary)
    }
    let longest = listed.map(\.name.count).max() ?? 0
    // Beside the names where there is room, else below them.
    let column = min(longest + 5, max(6, width / 2))
    for (name, summary) in listed {
      lines += Self.entry(name, summary, column: column, width: width)
    }
    return (lines + end).joined(separator: "\n")
  }

  /// A name with text in a column beside it.
  static func entry(_ name: String, _ text: String, column: Int, width: Int) -> [String] {
    let gap = String(repeating: " ", count: max(1, column - 2 - name.count))
    return Paragraph.wrap(text, indent: column, width: width).enumerated().map {
      $0 == 0 ? "  \(name)\(gap)" + $1.dropFirst(column) : $1
    }
  }
}
