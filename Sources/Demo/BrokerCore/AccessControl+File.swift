// SPDX-License-Identifier: Apache-2.0

/// The file of users: a line `user NAME PASSWORD` for each, followed by a line for each right, `OPERATION topic NAME`,
/// `OPERATION group NAME` or `OPERATION cluster`. A name ending with `*` is a prefix; `#` starts a comment.
extension AccessControl {
  /// An error in a file with its line number; it quotes no password.
  public struct FileProblem: Error, Equatable, CustomStringConvertible {
    public let description: String
  }

  /// Reads a file of users. Clients must then authenticate.
  public init(file text: String) throws(FileProblem) {
    self.init()
    admitsAnonymous = false
    var user: String?
    // Also the ends of lines of other systems: "\r\n" is one character.
    let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
    for (number, line) in zip(1..., lines) {
      let words = line.split(whereSeparator: \.isWhitespace).map(String.init)
      guard let first = words.first, !first.hasPrefix("#") else { continue }
      func problem(_ text: String) -> FileProblem { .init(description: "line \(number): \(text)") }
      if first == "user" {
        guard words.count == 3 else { throw problem("expected user NAME PASSWORD") }
        guard addUser(words[1], password: words[2]) else {
          throw problem("user \(words[1]) is there already")
        }
        user = words[1]
      } else if let user {
        guard let right = Right(words) else {
          let operations = Operation.allCases.map(\.rawValue).joined(separator: ", ")
          throw problem(
            "expected OPERATION topic NAME, OPERATION group NAME or OPERATION cluster; operations are "
              + operations)
        }
        grant(right, to: user)
      } else {
        throw problem("expected user NAME PASSWORD before the first right")
      }
    }
    guard hasPasswords else { throw FileProblem(description: "no user") }
  }
}

extension AccessControl.Right {
  /// Parses the right on a line. Operations are case-insensitive, as in Kafka's tools.
  fileprivate init?(_ words: [String]) {
    let named = AccessControl.Operation.allCases.first {
      $0.rawValue.lowercased() == words[0].lowercased()
    }
    guard let named, let name = words.last else { return nil }
    let isPrefix = name.hasSuffix("*")
    let own = isPrefix ? String(name.dropLast()) : name
    switch (words.dropFirst().first, words.count) {
    case ("topic", 3): self.init(named, .topic(own), isPrefix: isPrefix)
    case ("group", 3): self.init(named, .group(own), isPrefix: isPrefix)
    case ("cluster", 2): self.init(named, .cluster)
    default: return nil
    }
  }
}
