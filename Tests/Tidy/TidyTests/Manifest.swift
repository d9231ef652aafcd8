// SPDX-License-Identifier: Apache-2.0
import Records

/// The targets of `Package.swift`, as SwiftPM reads them.
enum Manifest {
  struct Target {
    let name: String
    let path: String
    let dependencies: [String]
    /// A module of decisions and formats: it has no I/O.
    let isValue: Bool
  }

  /// SwiftPM takes two seconds for them, so once.
  static func targets() throws -> [Target] { try read.get() }

  /// SwiftPM does one thing at a time in a folder, so it gets one of its own.
  private static let read: Result<[Target], any Error> = Result {
    let text = Repository().output(
      of: "folder=$(mktemp -d) && swift package --scratch-path \"$folder\" dump-package;"
        + " rm -r \"$folder\"")
    return try JSONDocument(text).root["targets"]?.array?.map { target in
      Target(
        name: target["name"]?.string ?? "", path: target["path"]?.string ?? "",
        dependencies: (target["dependencies"]?.array ?? []).compactMap {
          $0["byName"]?.array?.first?.string
        },
        isValue: (target["settings"]?.array ?? []).contains {
          $0["kind"]?["strictMemorySafety"]?.object != nil
        })
    } ?? []
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
