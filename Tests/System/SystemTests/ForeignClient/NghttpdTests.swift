// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import SenderDecisions
import TestSupport
import Testing

/// The sender pushes to nghttpd.
@Suite(.serialized) struct NghttpdTests {
  /// It speaks HTTP/2 and gives no `apns-id`: whatever it answers is not of APNs.
  @Test func `a 200 and a 404 of a server that is not APNs deliver and reject nothing`() throws {
    let folder = TemporaryFolder()
    let keys = try GeneratedKeys(in: folder)
    let present = (0..<20).map(DeviceTokens.numbered)
    let absent = (20..<40).map(DeviceTokens.numbered)
    let server = try start(serving: present, keys, in: folder)
    let port = try #require(server.listeningPort(), "nghttpd printed: \(server.output)")
    let leg = try SenderLeg(gatewayPort: port, keys: keys, in: folder)
    for token in present + absent { try leg.request(token) }
    #expect(leg.senderPrints(SenderLog.strangeResponse.rawValue))
    // It was asked again and again by then, or at least had the time.
    letPass(milliseconds: 3_000)
    #expect(try leg.kcat.receipts().isEmpty)
    leg.stop()
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
