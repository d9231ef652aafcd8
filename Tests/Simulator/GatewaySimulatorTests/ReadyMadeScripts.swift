// SPDX-License-Identifier: Apache-2.0
import Bytes
import Testing

/// The fault scripts of `deploy/faults`.
enum ReadyMadeScripts {
  private static let repository =
    "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")

  /// Their paths.
  static func names() throws -> [String] {
    let folder = "\(repository)/deploy/faults"
    let names = File.names(in: folder).filter { $0.hasSuffix(".json") }
    try #require(!names.isEmpty)
    return names.sorted().map { "\(folder)/\($0)" }
  }
}
