// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import Testing

/// The fault scripts of `deploy/faults`.
enum ReadyMadeScripts {
  private static let repository =
    "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

  /// The page that describes them.
  static func page() throws -> String {
    String(decoding: try File.read("\(repository)/docs/simulator.md"), as: UTF8.self)
  }

  /// Their paths.
  static func names() throws -> [String] {
    let folder = "\(repository)/deploy/faults"
    let open = try #require(opendir(folder))
    defer { closedir(open) }
    var names: [String] = []
    while let entry = readdir(open) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { bytes in
        String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
      }
      if name.hasSuffix(".json") { names.append("\(folder)/\(name)") }
    }
    return names.sorted()
  }
}
