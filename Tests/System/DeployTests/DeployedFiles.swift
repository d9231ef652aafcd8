// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Records
import TestSupport
import Testing

/// The files of deploy/, and its YAML as values.
enum DeployedFiles {
  struct Document {
    /// Relative to deploy/.
    let path: String
    let value: JSONValue

    var kind: String { value["kind"]?.string ?? "" }
    var name: String { value["metadata"]?["name"]?.string ?? "" }
  }

  static let folder = Repository.path("deploy")

  static func text(_ path: String) throws -> String { try File.text("\(folder)/\(path)") }

  /// Expects that a page of docs/reference is this text; with `MARTLET_WRITE_DOCS` it is written first.
  static func expectPage(_ name: String, _ text: String) throws {
    let path = Repository.path("docs/reference/\(name)")
    if getenv("MARTLET_WRITE_DOCS") != nil { try File.write(path, Array(text.utf8), mode: 0o644) }
    #expect(try File.text(path) == text, "out of date: scripts/docs writes it")
  }

  /// Every file, relative to deploy/, sorted.
  static func paths() throws -> [String] {
    let found = try BuiltProgram.run(
      "/usr/bin/find", [folder, "-type", "f", "-printf", #"%P\n"#], in: TemporaryFolder())
    return found.output.split(separator: "\n").map(String.init).sorted()
  }

  /// Every YAML document in the order of the files; reading them takes Python a second, so once.
  static func documents() throws -> [Document] { try read.get() }

  /// The documents of one file or folder.
  static func documents(in path: String) throws -> [Document] {
    try documents().filter { $0.path.hasPrefix(path) }
  }

  private static let read: Result<[Document], any Error> = Result {
    let files = try paths().filter { $0.hasSuffix(".yaml") }.map { "\(folder)/\($0)" }
    let script = Repository.path("Tests/System/DeployTests/Python/yaml_to_json.py")
    let run = try BuiltProgram.run(
      SystemProgram.python(), ["-B", script] + files, in: TemporaryFolder())
    guard run.status == 0 else { throw UnreadableManifest(description: run.output) }
    return try run.output.split(separator: "\n").map { line in
      let object = try JSONDocument(String(line)).root
      let path = object["path"]?.string?.dropFirst(folder.count + 1) ?? ""
      return Document(path: String(path), value: object["document"] ?? .null)
    }
  }
}

/// What Python says about a file that it cannot read.
struct UnreadableManifest: Error, CustomStringConvertible {
  let description: String
}
