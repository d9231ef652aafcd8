// SPDX-License-Identifier: Apache-2.0
import Bytes
import SystemTestSupport
import TestSupport

/// The log events of the programs, as their sources have them: every message of every call of a logger.
struct LogEvents {
  struct Event: Hashable {
    let room: String
    let level: String
    /// `…` stands for what is only known when it happens.
    let message: String
  }

  /// By room, in the order of files and lines; each once.
  let events: [Event]

  init(root: String) throws {
    let list = try BuiltProgram.run(
      "/usr/bin/find", ["\(root)/Sources", "-name", "*.swift"], in: TemporaryFolder())
    var texts: [(room: String, text: String)] = []
    for path in list.output.split(separator: "\n").map(String.init).sorted() {
      let parts = path.dropFirst(root.count).split(separator: "/")
      let text = String(decoding: try File.read(path), as: UTF8.self)
      texts.append((room: String(parts[2]), text: text))
    }
    let constants = Self.constants(texts.map(\.text).joined())
    var seen: Set<Event> = []
    events = texts.flatMap { room, text in
      // The same name may stand for another text in another file.
      let known = constants.merging(Self.constants(text)) { _, own in own }
      return Self.calls(in: text).filter { !Self.isPassedOn($0.argument, in: text) }.flatMap {
        level, argument in
        Self.messages(argument, known).map {
          Event(room: room, level: level, message: $0)
        }
      }
    }.filter { seen.insert($0).inserted }
  }

  /// Whether some program logs this.
  func contains(_ message: String) -> Bool { events.contains { $0.message == message } }

  // MARK: Reading sources

  /// The texts of `static let name = "…"`.
  private static func constants(_ text: String) -> [String: String] {
    let constant = #/static let ([a-zA-Z]+)(?:: String)? =\s*"([^"\\]+)"/#
    return Dictionary(
      text.matches(of: constant).map { (String($0.1), String($0.2)) },
      uniquingKeysWith: { first, _ in first })
  }

  /// Level and first argument of each call.
  private static func calls(in text: String) -> [(level: String, argument: Substring)] {
    let call =
      #/\b(?:(?:log|logger)\.(?:(debug|info|warning|error)\(|event\(\.(debug|info|warning|error), )|logOncePerMinute\(|postpone\()/#
      // Else a.b is one word.
      .wordBoundaryKind(.simple)
    return text.matches(of: call).filter { match in
      // Not where a function that logs is declared.
      text[match.range.upperBound...].first { !$0.isWhitespace } != "_"
    }.map { match in
      (
        String(match.1 ?? match.2 ?? (match.0 == "postpone(" ? "warning" : "error")),
        argument(text[match.range.upperBound...])
      )
    }
  }

  /// Whether it is the parameter of a function that logs, whose own calls are read.
  private static func isPassedOn(_ argument: Substring, in file: String) -> Bool {
    argument == "text" && file.contains(#/func (?:logOncePerMinute|postpone)\(/#)
  }

  /// Up to the comma or parenthesis that ends the argument.
  private static func argument(_ rest: Substring) -> Substring {
    var depth = 0
    var isText = false
    var index = rest.startIndex
    while index < rest.endIndex {
      let character = rest[index]
      if isText, character == "\\" {
        index = rest.index(after: index)
        // What is interpolated has no quotes in our sources.
      } else if character == "\"" {
        isText.toggle()
      } else if !isText, character == "(" {
        depth += 1
      } else if !isText, character == ")" || character == "," {
        if depth == 0 { return rest[..<index] }
        if character == ")" { depth -= 1 }
      }
      index = rest.index(after: index)
    }
    return rest
  }

  /// The texts that an argument may be: literals joined by `+`, the branches of `? :`, or a named constant.
  private static func messages(_ argument: Substring, _ constants: [String: String]) -> [String] {
    let literal = #/"((?:[^"\\]|\\.)*)"/#
    var messages: [String] = []
    var last: Substring.Index?
    for match in argument.matches(of: literal) {
      let gap = last.map { argument[$0..<match.range.lowerBound] } ?? ""
      let text = Self.plain(match.1)
      if gap.contains("+"), let head = messages.popLast() {
        messages.append(head + text)
      } else {
        messages.append(text)
      }
      last = match.range.upperBound
    }
    if messages.isEmpty {
      let name = argument.split(whereSeparator: { !$0.isLetter }).last.map(String.init) ?? ""
      // A name of this function's own is no constant.
      let isConstant = argument.contains(".") || argument.first?.isUppercase == true
      messages = [isConstant ? constants[name] ?? "…" : "…"]
    }
    return messages
  }

  private static func plain(_ literal: Substring) -> String {
    var text = ""
    var rest = literal
    while let start = rest.firstRange(of: #"\("#) {
      text += rest[..<start.lowerBound] + "…"
      var depth = 1
      rest = rest[start.upperBound...]
      while depth > 0, let character = rest.popFirst() {
        depth += character == "(" ? 1 : character == ")" ? -1 : 0
      }
    }
    return text + rest
  }
}
