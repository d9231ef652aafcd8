// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import SenderDecisions
import TestSupport
import Testing

/// The sender pushes through tinyproxy to the simulator.
@Suite(.serialized) struct TinyproxyTests {
  @Test
  func `with the right user and password every push goes through one CONNECT for each connection`()
    throws
  {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder, tokens: DeviceTokens.declared)
    defer { simulator.stop() }
    let (proxy, port) = try start(in: folder)
    try File.write(folder.file("credentials"), Array("martlet:pa55word\n".utf8))
    let leg = try SenderLeg(
      gatewayPort: simulator.port, keys: simulator.keys,
      sender: [
        "--proxy", "http://127.0.0.1:\(port)", "--proxy-credentials", folder.file("credentials"),
      ], in: folder)
    let healthy = (0..<200).map(DeviceTokens.numbered)
    let receipts = try leg.push(healthy + [DeviceTokens.unregistered])
    leg.stop()

    #expect(Set(receipts.filter { $0.outcome == "delivered" }.map(\.token)) == Set(healthy))
    #expect(receipts.first { $0.token == DeviceTokens.unregistered }?.status == 410)
    #expect(try simulator.requests().count == 201)
    let tunnels = proxy.output.split(separator: "\n").filter {
      $0.contains("CONNECT localhost:\(simulator.port) HTTP/1.1")
    }
    #expect((1...8).contains(tunnels.count), "tinyproxy printed: \(proxy.output.suffix(2_000))")
    #expect(proxy.stop() != nil)
  }

  @Test func `with a wrong password nothing gets through, and the log says why without naming it`()
    throws
  {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let (proxy, port) = try start(in: folder)
    let leg = try SenderLeg(
      gatewayPort: simulator.port, keys: simulator.keys,
      sender: ["--proxy", "http://martlet:wr0ng@127.0.0.1:\(port)"], in: folder)
    try leg.request(DeviceTokens.numbered(1))
    #expect(
      leg.senderPrints("does not accept the user and password"),
      "tinyproxy printed: \(proxy.output.suffix(2_000))")
    #expect(!leg.senderPrints("wr0ng", withinMilliseconds: 0))
    #expect(try simulator.requests().isEmpty)
    leg.stop()
    #expect(proxy.stop() != nil)
  }

  @Test func `a connection that the proxy cuts while nothing is sent is named so, with both ends`()
    throws
  {
    let folder = TemporaryFolder()
    let simulator = try RunningSimulator(in: folder)
    defer { simulator.stop() }
    let (proxy, port) = try start(in: folder, timeout: 6)
    let leg = try SenderLeg(
      gatewayPort: simulator.port, keys: simulator.keys,
      sender: ["--proxy", "http://martlet:pa55word@127.0.0.1:\(port)"], in: folder)
    #expect(try leg.push([DeviceTokens.numbered(1)]).first?.outcome == "delivered")
    #expect(
      leg.senderPrints(SenderLog.connectionCutIdle.rawValue),
      "tinyproxy printed: \(proxy.output.suffix(2_000))")
    #expect(leg.senderPrints("gateway=localhost:\(simulator.port)", withinMilliseconds: 0))
    #expect(leg.senderPrints("proxy=127.0.0.1:\(port)", withinMilliseconds: 0))
    #expect(!leg.senderPrints(SenderLog.notConnected.rawValue, withinMilliseconds: 0))
    #expect(!leg.senderPrints(SenderLog.connectionNotOpened.rawValue, withinMilliseconds: 0))
    #expect(!leg.senderPrints(SenderLog.connectionLost.rawValue, withinMilliseconds: 0))
    leg.stop()
    #expect(proxy.stop() != nil)
  }

  /// tinyproxy that wants a user and a password, and its port. It does not take a free port by itself.
  ///
  /// - Parameter timeout: seconds of silence after which it ends a tunnel.
  private func start(
    in folder: TemporaryFolder, timeout: Int = 600
  ) throws -> (BuiltProgram, UInt16) {
    var output = ""
    for _ in 0..<5 {
      let port = try FreePort.find()
      let configuration = """
        Port \(port)
        Listen 127.0.0.1
        Timeout \(timeout)
        MaxClients 50
        LogLevel Connect
        BasicAuth martlet pa55word

        """
      try File.write(folder.file("tinyproxy.conf"), Array(configuration.utf8))
      let proxy = try BuiltProgram.start(
        path: SystemProgram.path("tinyproxy"), ["-d", "-c", folder.file("tinyproxy.conf")],
        in: folder)
      if proxy.listeningPort() == port { return (proxy, port) }
      output = proxy.output
    }
    throw ProxyDidNotStart(output: output)
  }
}
