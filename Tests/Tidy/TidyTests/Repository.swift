// SPDX-License-Identifier: Apache-2.0
import Glibc

/// The files of this repository as they lie on disk, apart from what the build made.
struct Repository {
  /// Paths relative to the root, sorted.
  let paths: [String]
  private let root: String

  init(file: String = #filePath) {
    root = file.split(separator: "/").dropLast(4).reduce("") { "\($0)/\($1)" }
    let command =
      "find . -type f -not -path '*/.build/*' -not -path './.git/*' -not -path '*/__pycache__/*'"
      + " -not -name '*.o' | sort"
    paths = Self.output(of: command, in: root).split(separator: "\n")
      .map { String($0.dropFirst(2)) }
  }

  func text(_ path: String) -> String {
    guard let file = fopen("\(root)/\(path)", "r") else { return "" }
    defer { fclose(file) }
    return Self.content(file)
  }

  func lines(_ path: String) -> [Substring] {
    text(path).split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// Whether there is a file or a folder of this path, which may hold one `*`.
  func holds(_ path: String) -> Bool {
    let parts = path.split(separator: "*", omittingEmptySubsequences: false)
    guard parts.count > 1, let first = parts.first, let last = parts.last else {
      return exists(path)
    }
    return paths.contains { $0.hasPrefix(first) && $0.hasSuffix(last) }
  }

  func exists(_ path: String) -> Bool { access("\(root)/\(path)", F_OK) == 0 }

  /// Whether a file may be run as a program.
  func runs(_ path: String) -> Bool { access("\(root)/\(path)", X_OK) == 0 }

  /// Swift sources and tests.
  var swiftPaths: [String] { paths.filter { $0.hasSuffix(".swift") } }

  /// What a person wrote, in whatever language.
  var textPaths: [String] {
    paths.filter { path in ["LICENSE", ".svg", ".png", ".lock"].allSatisfy { !path.hasSuffix($0) } }
  }

  /// What a command of the shell prints in the root.
  func output(of command: String) -> String { Self.output(of: command, in: root) }

  private static func output(of command: String, in folder: String) -> String {
    guard let pipe = popen("cd '\(folder)' && \(command)", "r") else { return "" }
    defer { pclose(pipe) }
    return content(pipe)
  }

  private static func content(_ file: UnsafeMutablePointer<FILE>) -> String {
    var bytes: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: 64 << 10)
    while true {
      let count = fread(&piece, 1, piece.count, file)
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += piece[..<count]
    }
  }
}
