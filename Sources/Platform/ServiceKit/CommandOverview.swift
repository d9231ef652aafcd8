// SPDX-License-Identifier: Apache-2.0

/// What `--help` says of a program with many commands: one line each, in groups, and a few examples.
public struct CommandOverview: Sendable {
  public struct Group: Sendable {
    public let title: String
    /// Commands by name, and what each does: at most 52 characters, so that a line has 80.
    public let commands: [(name: String, line: String)]

    public init(_ title: String, _ commands: [(name: String, line: String)]) {
      (self.title, self.commands) = (title, commands)
    }
  }

  public let groups: [Group]
  /// Whole command lines.
  public let examples: [String]
  /// Commands that are no more, and what is typed in their place.
  let moved: [String: String]

  public init(_ groups: [Group], examples: [String], moved: [String: String] = [:]) {
    (self.groups, self.examples, self.moved) = (groups, examples, moved)
  }

  /// The command that the arguments begin with if it is no more, and its successor.
  func moved(_ arguments: [String]) -> (name: String, successor: String)? {
    let name = arguments.prefix(2).joined(separator: " ")
    return moved[name].map { (name, $0) }
  }

  /// The lines of the help between its head and its end.
  func lines(width: Int) -> [String] {
    let longest = groups.flatMap(\.commands).map(\.name.count).max() ?? 0
    var lines: [String] = []
    for group in groups {
      lines.append("\(group.title):")
      for (name, line) in group.commands {
        lines += CommandList.entry(name, line, column: longest + 4, width: width)
      }
      lines.append("")
    }
    return lines + ["Examples:"] + examples.map { "  \($0)" }
  }
}
