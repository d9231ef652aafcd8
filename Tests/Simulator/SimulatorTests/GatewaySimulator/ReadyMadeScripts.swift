// SPDX-License-Identifier: Apache-2.0
import EventLoop
import TestSupport
import Testing

/// The fault scripts of `deploy/faults`.
enum ReadyMadeScripts {
  /// Their paths.
  static func names() throws -> [String] {
    let folder = Repository.path("deploy/faults")
    let names = File.names(in: folder).filter { $0.hasSuffix(".json") }
    try #require(!names.isEmpty)
    return names.sorted().map { "\(folder)/\($0)" }
  }
}
