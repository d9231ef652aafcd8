// SPDX-License-Identifier: Apache-2.0

/// The words that may come next on a command line: the shells' completions ask the program itself, so they know every
/// command and setting that it knows.
public struct Completion: Sendable {
  public struct Command: Sendable {
    /// As it is typed: `dead-letters`, `list`.
    let words: [String]
    let summary: String
    let table: SettingTable

    public init(name: String, summary: String, table: SettingTable) {
      words = name.split(separator: " ").map(String.init)
      self.summary = summary
      self.table = table
    }
  }

  /// A word that may come next, and what it means.
  public struct Candidate: Sendable, Equatable {
    public let text: String
    /// One clause, or nothing.
    public let note: String
  }

  public enum Answer: Sendable, Equatable {
    case words([Candidate])
    /// A path of the file system.
    case files
  }

  private let commands: [Command]

  public init(_ commands: [Command]) { self.commands = commands }

  /// The possible completions of the last word.
  ///
  /// - Parameter words: those behind the program's name; the last one is being typed and may be empty.
  public func answer(_ words: [String]) -> Answer {
    guard let current = words.last else { return .words([]) }
    let before = Array(words.dropLast())
    let command = commands.filter { before.starts(with: $0.words) }
      .max { $0.words.count < $1.words.count }
    let answer = command.map { next($0, Array(before.dropFirst($0.words.count)), current) }
    guard case .words(let candidates) = answer ?? .words(names(before)) else { return .files }
    return .words(candidates.filter { $0.text.hasPrefix(current) })
  }

  /// The text that the completion scripts read: a line for each word that may come next (the word, a tab, what it means),
  /// or `:files` for a path.
  public func text(_ words: [String]) -> String {
    switch answer(words) {
    case .files: ":files\n"
    case .words(let candidates): candidates.map { "\($0.text)\t\($0.note)\n" }.joined()
    }
  }

  /// The next words of commands that begin like this.
  private func names(_ before: [String]) -> [Candidate] {
    let fitting = commands.filter { $0.words.count > before.count && $0.words.starts(with: before) }
    var candidates: [Candidate] = []
    for command in fitting
    where !candidates.contains(where: { $0.text == command.words[before.count] }) {
      let isWhole = command.words.count == before.count + 1
      candidates.append(
        Candidate(
          text: command.words[before.count], note: isWhole ? Self.clause(command.summary) : ""))
    }
    return candidates + ["--help", "--version"].map { Candidate(text: $0, note: "") }
  }

  private func next(_ command: Command, _ before: [String], _ current: String) -> Answer {
    let table = command.table
    if let flag = Self.openFlag(before, table) {
      if flag == "config" { return .files }
      switch table[flag]?.kind {
      case .choice(let words): return .words(words.map { Candidate(text: $0, note: "") })
      case .path: return .files
      default: return .words([])
      }
    }
    if !current.hasPrefix("-"), table.operands != nil { return .files }
    return .words(Self.flags(table))
  }

  /// The flag whose value comes next, if one does.
  private static func openFlag(_ words: [String], _ table: SettingTable) -> String? {
    var open: String?
    for word in words {
      if open != nil {
        open = nil
      } else if word.hasPrefix("--"), !word.contains("=") {
        let name = String(word.dropFirst(2))
        let takesValue = table[name].map { $0.kind != .boolean } ?? (name == "config")
        if takesValue { open = name }
      }
    }
    return open
  }

  private static func flags(_ table: SettingTable) -> [Candidate] {
    let own = table.settings.map { setting in
      let isOn = setting.kind == .boolean && setting.defaultText == "true"
      return Candidate(
        text: (isOn ? "--no-" : "--") + setting.name, note: clause(setting.documentation))
    }
    return own + SettingTable.builtIn.map { Candidate(text: "--\($0)", note: "") }
  }

  /// The first sentence, without its dot, on one line.
  private static func clause(_ text: String) -> String {
    var words: [Substring] = []
    for word in text.split(separator: " ") {
      words.append(word)
      if word.hasSuffix(".") || word.hasSuffix(":") { break }
    }
    let line = words.joined(separator: " ")
    return line.hasSuffix(".") || line.hasSuffix(":") ? String(line.dropLast()) : line
  }
}
