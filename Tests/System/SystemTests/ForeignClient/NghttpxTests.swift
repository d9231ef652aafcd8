// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport
import Testing

/// The sender pushes through nghttpx to the simulator.
@Suite(.serialized) struct NghttpxTests {
  @Test func `every answer of the gateway comes back through the proxy`() throws {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder, tokens: DeviceTokens.declared)
    defer { simulator.stop() }
    let (proxy, port) = try start(before: simulator, in: folder)
    let leg = try SenderLeg(gatewayPort: port, keys: simulator.keys, in: folder)
    let healthy = (0..<400).map(DeviceTokens.numbered)
    let receipts = try leg.push(healthy + [DeviceTokens.unregistered, DeviceTokens.bad])
    leg.stop()

    let delivered = receipts.filter { $0.outcome == "delivered" && $0.status == 200 }
    #expect(Set(delivered.map(\.token)) == Set(healthy))
    let gone = receipts.first { $0.token == DeviceTokens.unregistered }
    #expect(gone?.status == 410)
    #expect(gone?.timestamp == DeviceTokens.unregisteredSince)
    let bad = receipts.first { $0.token == DeviceTokens.bad }
    #expect(bad?.status == 400)
    #expect(bad?.reason == "BadDeviceToken")

    // It was the proxy that asked, over HTTP/2. Before it knows the stream limit of the gateway it may
    // ask for too much; what the gateway refuses then, the sender sends again.
    #expect(proxy.stop() == 128 + SIGTERM, "nghttpx printed: \(proxy.output.suffix(2_000))")
    let log = try File.text(folder.file("access.log"))
    #expect(log.split(separator: "\n").filter { $0.hasPrefix("h2 POST ") }.count >= 402)
    #expect(try simulator.requests().count == 402)
  }

  /// nghttpx with TLS on both sides, and its port. It does not take a free port by itself.
  private func start(
    before simulator: RunningSimulator, in folder: TemporaryFolder
  ) throws -> (BuiltProgram, UInt16) {
    let keys = simulator.keys
    var output = ""
    for _ in 0..<5 {
      let port = try FreePort.find()
      let proxy = try BuiltProgram.start(
        path: SystemProgram.path("nghttpx"),
        [
          "--conf=/dev/null", "--single-process", "--no-ocsp", "--frontend=127.0.0.1,\(port)",
          "--backend=127.0.0.1,\(simulator.port);;proto=h2;tls;sni=localhost",
          "--cacert=\(keys.roots)", "--accesslog-file=\(folder.file("access.log"))",
          "--accesslog-format=$alpn $method $status", keys.certificateKey, keys.certificate,
        ], in: folder)
      if proxy.listeningPort() == port { return (proxy, port) }
      output = proxy.output
    }
    throw ProxyDidNotStart(output: output)
  }
}

struct ProxyDidNotStart: Error {
  let output: String
}
