// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Records
import TestSupport
import Testing

/// Client certificates of an authority that the simulator trusts.
private struct ClientCertificates {
  let authority: CertificateAuthority
  let folder: TemporaryFolder

  init(in folder: TemporaryFolder) throws {
    authority = try CertificateAuthority()
    self.folder = folder
    try File.write(roots, authority.certificatePEM)
  }

  var roots: String { folder.file("client-roots.pem") }

  /// A PEM file with a certificate and its key, of one app or (universal) of its services, too.
  func issue(_ name: String, isUniversal: Bool) throws -> String {
    let issued = try authority.issueClient(bundleID: RunningSimulator.app, isUniversal: isUniversal)
    let file = folder.file(name)
    try File.write(file, issued.certificatePEM + issued.keyPEM)
    return file
  }
}

/// aioapns, httpx and curl with client certificates.
@Suite(.serialized) struct ClientCertificateTests {
  private let folder = TemporaryFolder()
  private let certificates: ClientCertificates

  init() throws { certificates = try ClientCertificates(in: folder) }

  private func simulator() throws -> RunningSimulator {
    try RunningSimulator(
      // aioapns forgets what the gateway refuses when it lowers its limit after a 400.
      in: folder, ["--client-roots", certificates.roots, "--throttle", "off"],
      tokens: DeviceTokens.declared)
  }

  @Test
  func `aioapns: 200 for the certificate's topics, 410 for a dead token, 400 for another's topic`()
    throws
  {
    let simulator = try simulator()
    defer { simulator.stop() }
    let certificate = try certificates.issue("universal.pem", isUniversal: true)
    func push(_ tokens: [String], topic: String) throws -> [JSONValue] {
      let file = folder.file("pushes")
      try File.write(file, tokens.flatMap { (["token": .string($0)] as JSONValue).text + [10] })
      let result = try PythonScript.run(
        "push_with_aioapns.py",
        [
          "--port", "\(simulator.port)", "--roots", simulator.keys.roots, "--certificate",
          certificate, "--topic", topic, "--pushes", file,
        ], in: folder)
      #expect(result.status == 0, "it printed: \(result.output.suffix(2_000))")
      return result.objects
    }
    let tokens = (0..<50).map(DeviceTokens.numbered) + [DeviceTokens.unregistered]
    let answers = try push(tokens, topic: RunningSimulator.app)
    #expect(answers.count == 51)
    #expect(answers.dropLast().allSatisfy { $0["status"]?.int == 200 })
    #expect(answers.last?["reason"]?.string == "Unregistered")
    let other = try push([DeviceTokens.numbered(1)], topic: "com.example.other")
    #expect(other.first?["status"]?.int == 400)
    #expect(other.first?["reason"]?.string == "BadTopic")
  }

  @Test func `httpx: a certificate, a provider token, and neither`() throws {
    let simulator = try simulator()
    defer { simulator.stop() }
    func push(_ pushes: [String], _ identity: [String]) throws -> [JSONValue] {
      let result = try PythonScript.run(
        "push_with_httpx.py",
        ["--port", "\(simulator.port)", "--roots", simulator.keys.roots] + identity
          + pushes.flatMap { ["--push", $0] }, in: folder)
      #expect(result.status == 0, "it printed: \(result.output.suffix(2_000))")
      return result.objects
    }
    let app = RunningSimulator.app
    let pushes = [
      "\(DeviceTokens.numbered(1)) \(app)", "\(DeviceTokens.unregistered) \(app)",
      "\(DeviceTokens.numbered(2)) com.example.other",
    ]
    let certificate = try certificates.issue("single.pem", isUniversal: false)
    let shown = try push(pushes, ["--certificate", certificate])
    #expect(shown.map { $0["status"]?.int } == [200, 410, 400])
    #expect(shown.allSatisfy { $0["version"]?.string == "HTTP/2" && $0["id"]?.string != nil })
    #expect(shown.last?["reason"]?.string == "BadTopic")

    let token = try push(Array(pushes.prefix(2)), ["--bearer", try simulator.keys.providerToken()])
    #expect(token.map { $0["status"]?.int } == [200, 410])
    let nothing = try push(Array(pushes.prefix(1)), [])
    #expect(nothing.first?["status"]?.int == 403)
    #expect(nothing.first?["reason"]?.string == "MissingProviderToken")
  }
}
