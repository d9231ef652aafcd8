// SPDX-License-Identifier: Apache-2.0
import Glibc
import TestSupport
import Testing

/// `martlet up`: everything on this machine, with a broker of its own.
final class RunningPipeline {
  /// `host:port` of Kafka.
  let kafka: String
  private let up: BuiltProgram

  init(in folder: TemporaryFolder, _ flags: [String] = []) throws {
    up = try BuiltProgram.start("martlet", ["up", "--dir", folder.file("up")] + flags, in: folder)
    let isUp = up.prints("Ctrl-C stops everything.", withinMilliseconds: 120_000)
    try #require(isUp, "up printed: \(up.output)")
    let address = up.output.firstMatch(of: #/kafka +([0-9.:]+)/#)
    kafka = String(try #require(address, "up printed: \(up.output)").1)
  }

  /// Ends it as a person does.
  func stop() {
    up.signal(SIGINT)
    #expect(up.wait() == 0, "up printed: \(up.output)")
  }
}
