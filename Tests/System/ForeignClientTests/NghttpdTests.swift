// SPDX-License-Identifier: Apache-2.0
import Bytes
import Glibc
import SystemTestSupport
import TestSupport
import Testing

/// The sender pushes to nghttpd.
@Suite(.serialized) struct NghttpdTests {
  @Test func `a file in the server's folder is a 200 and delivered, no file a 404 and rejected`()
    throws
  {
    let folder = TemporaryFolder()
    let keys = try GeneratedKeys(in: folder)
    let present = (0..<200).map(DeviceTokens.numbered)
    let absent = (200..<400).map(DeviceTokens.numbered)
    let server = try start(serving: present, keys, in: folder)
    let port = try #require(server.listeningPort(), "nghttpd printed: \(server.output)")
    let leg = try SenderLeg(gatewayPort: port, keys: keys, in: folder)
    let receipts = try leg.push(present + absent)
    leg.stop()

    let delivered = receipts.filter { $0.status == 200 }
    #expect(Set(delivered.map(\.token)) == Set(present))
    #expect(delivered.allSatisfy { $0.outcome == "delivered" })
    let rejected = receipts.filter { $0.status == 404 }
    #expect(Set(rejected.map(\.token)) == Set(absent))
    #expect(rejected.allSatisfy { $0.outcome == "rejected" && $0.attempts == 1 })
    #expect(delivered.count + rejected.count == 400)
    // It has no way to end but a signal.
    #expect(server.stop() == 128 + SIGTERM)
  }

  /// nghttpd, answering pushes to `tokens` with an empty file.
  private func start(
    serving tokens: [String], _ keys: GeneratedKeys, in folder: TemporaryFolder
  ) throws -> BuiltProgram {
    for name in ["docroot", "docroot/3", "docroot/3/device"] {
      try #require(mkdir(folder.file(name), 0o700) == 0)
    }
    for token in tokens { try File.write(folder.file("docroot/3/device/\(token)"), []) }
    return try BuiltProgram.start(
      path: SystemProgram.path("nghttpd"),
      [
        "--address=127.0.0.1", "--htdocs=\(folder.file("docroot"))", "0", keys.certificateKey,
        keys.certificate,
      ], in: folder)
  }
}
