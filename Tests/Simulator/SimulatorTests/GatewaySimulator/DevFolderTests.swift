// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

@testable import GatewaySimulator

/// `--dev FOLDER`: everything a test suite needs, from nothing.
@Suite struct DevFolderTests {
  private let folder = TemporaryFolder()
  private var path: String { folder.file("dev") }

  private func start(_ flags: [String] = []) throws -> (Simulator, ServiceContext) {
    let context = try SimulatorService.context(["--dev", path] + flags)
    return (try Simulator(SimulatorSettings(context.values), context), context)
  }

  private func files() throws -> [String: [UInt8]] {
    let names = [
      "root.pem", "gateway.pem", "gateway-key.pem", "gateway-keys.json", "AuthKey_DEVKEY0001.p8",
      "client.pem", "client-key.pem", "client.p12",
    ]
    return Dictionary(uniqueKeysWithValues: try names.map { ($0, try File.read("\(path)/\($0)")) })
  }

  @Test func `one line says what a client needs, and a client gets through with it`() throws {
    let (simulator, context) = try start()
    defer {
      context.signals.requestStop()
      simulator.wait()
    }
    let line = simulator.line
    let key = try SigningKey(pem: File.read(#require(line["key"]?.string)))
    let minter = try ProviderTokenMinter(
      key: key, teamID: #require(line["team_id"]?.string), keyID: #require(line["key_id"]?.string))
    let root = try File.read(#require(line["root"]?.string))
    let token = try minter.mint(issuedAt: WallClock.seconds())
    let gateway = try RunningGateway()
    let client = try GatewayClient(gateway, at: simulator.address, roots: root)
    #expect(try client.send(client.push.with("authorization", "bearer \(token)")).status == 200)
    let identity = try TLSIdentity.load(
      certificate: #require(line["client_certificate"]?.string),
      key: #require(line["client_key"]?.string))
    let certified = try GatewayClient(
      gateway, at: simulator.address, roots: root, identity: identity)
    let push = certified.push.with("authorization", nil)
    #expect(try certified.send(push.with("apns-topic", line["client_topic"]?.string)).status == 200)
    #expect(
      Set([simulator.address.port, simulator.sandboxAddress.port, simulator.adminPort]).count == 3)
  }

  @Test func `a second start finds the same files, and makes only what is missing`() throws {
    let (first, context) = try start()
    context.signals.requestStop()
    first.wait()
    let made = try files()
    try File.remove("\(path)/gateway-keys.json")
    let (second, other) = try start()
    other.signals.requestStop()
    second.wait()
    #expect(try files() == made)
    try File.remove("\(path)/client.p12")
    let error = #expect(throws: GatewayFileError.self) { _ = try start() }
    #expect(error?.description.contains("client.p12 is missing; remove ") == true)
    try File.remove("\(path)/root.pem")
    try File.remove("\(path)/AuthKey_DEVKEY0001.p8")
    try File.remove("\(path)/gateway-keys.json")
    let (third, last) = try start()
    last.signals.requestStop()
    third.wait()
    #expect(try files()["root.pem"] != made["root.pem"])
  }

  @Test
  func `the certificate is for localhost, the loopback addresses and the names that were given`()
    throws
  {
    let (simulator, context) = try start(["--dev-names", "gateway,192.0.2.7"])
    context.signals.requestStop()
    simulator.wait()
    for name in ["localhost", "127.0.0.1", "::1", "gateway", "192.0.2.7"] {
      #expect(try TLSIdentity.isCertificate(at: "\(path)/gateway.pem", for: name), "\(name)")
    }
    #expect(try !TLSIdentity.isCertificate(at: "\(path)/gateway.pem", for: "other"))
    let error = #expect(throws: GatewayFileError.self) { _ = try start(["--dev-names", "other"]) }
    #expect(error?.description.contains("gateway.pem is not for other; remove ") == true)
  }

  @Test func `a suite gets no lines of counters`() throws {
    let values = try SimulatorService.values(["--dev", path])
    #expect(try SimulatorService.isQuiet(SimulatorSettings(values)))
    #expect(!SimulatorService.isQuiet(SimulatorSettings()))
  }

  @Test func `without a folder the certificate stays required`() throws {
    let values = try SimulatorService.values(["--certificate-key", "/dev/null"])
    let error = #expect(throws: SettingErrors.self) { _ = try SimulatorSettings(values) }
    #expect("\(error!)".contains("is required; give --certificate FILE"))
  }

  @Test func `the end of a pipe is a stop, and a file that has ended is none`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    let signals = ServiceSignals()
    _ = write(ends[1], "words", 5)
    close(ends[1])
    InputEnd.wait(ends[0], or: signals)
    #expect(signals.isStopping)
    close(ends[0])
    let null = open("/dev/null", O_RDONLY)
    defer { close(null) }
    let others = ServiceSignals()
    let waiting = try LoopThread(name: "waiting") { InputEnd.wait(null, or: others) }
    usleep(100_000)
    #expect(!others.isStopping)
    others.requestStop()
    waiting.join()
  }
}
