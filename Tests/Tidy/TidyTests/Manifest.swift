// SPDX-License-Identifier: Apache-2.0

/// The targets that `Package.swift` declares with Swift sources, read from its text.
struct Manifest {
  struct Target: Equatable {
    let name: String
    let path: String
    /// As they are written at the target; what a function of the manifest adds to every target of a room is not here.
    let dependencies: [String]
  }

  let targets: [Target]
  /// Folders of the modules that are values: decisions and formats, without I/O.
  let values: [String]

  init(_ text: String) {
    let flat =
      #/
      \n\ {4}(values|shell|service|program)
      \(\s*"(\w+)",\s*"(\w[\w\-]*)"
      (?:,\s*\[([^\]]*)\])?(?:,\s*settings:\ \w+)?\s*\)
      /#
    let tests = #/\n    tests\(\s*"(\w+)",\s*"(\w+)",\s*\[([^\]]*)\]/#
    let trials = #/\n    trial\(\s*"([\w\-]+)",\s*"([\w\/]+)",\s*\[([^\]]*)\]\s*\)/#
    let plain =
      #/\n    \.(?:target|executableTarget)\(\s*name: "(\w[\w-]*)",\s*dependencies: \[([^\]]*)\],\s*path: "([^"]+)"/#
    let flats = text.matches(of: flat)
    values = flats.filter { $0.1 == "values" }.map { "Sources/\($0.2)/\($0.3)/" }
    targets =
      flats.map {
        Target(
          name: String($0.3), path: "Sources/\($0.2)/\($0.3)", dependencies: Self.names($0.4 ?? ""))
      }
      + text.matches(of: tests).map {
        Target(
          name: "\($0.2)Tests", path: "Tests/\($0.1)/\($0.2)Tests", dependencies: Self.names($0.3))
      }
      + text.matches(of: trials).map {
        Target(
          name: String($0.1), path: "\($0.2)/\($0.1)", dependencies: Self.names($0.3))
      }
      + text.matches(of: plain).map {
        Target(name: String($0.1), path: String($0.3), dependencies: Self.names($0.2))
      }
  }

  private static func names(_ list: Substring) -> [String] {
    list.matches(of: #/"(\w+)"/#).map { String($0.1) }
  }

  private static let levels: Set<Substring> = ["public", "package", "internal", "private"]

  /// The modules that the lines of a Swift file import.
  static func imports(_ lines: [Substring]) -> [String] {
    lines.compactMap { line in
      let words = line.split(separator: " ")
      guard let place = words.firstIndex(of: "import"), place + 1 < words.count,
        words[..<place].allSatisfy({ $0.hasPrefix("@") || levels.contains($0) })
      else { return nil }
      return String(words[place + 1])
    }
  }
}
