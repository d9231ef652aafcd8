// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import HTTPClient
import SenderDecisions
import ServiceKit
import TestSupport
import Testing

/// What every program writes and shows at its most talkative, searched for what must stay secret.
@Suite struct SecretsInLogsTests {
  private static let services = PipelineRig.services + ["apns-simulator"]
  private static let proxyPassword = "proxy-pass-5f1c"

  /// A rig with pushes that succeed, fail, and are refused for their token.
  private func busyRig() throws -> PipelineRig {
    let rig = try PipelineRig()
    try rig.startSimulator(["--log-level", "debug"], unregistered: 0..<20)
    try rig.startServices(["--log-level", "debug"])
    for name in PipelineRig.services {
      try #require(rig.isUp(name), "\(rig[name].output)")
    }
    // A sender that goes through a proxy which is not there: it says where it cannot connect.
    try rig.start(
      "martlet-sender",
      [
        "--log-level", "debug", "--proxy",
        "http://user:\(Self.proxyPassword)@127.0.0.1:1",
      ], as: "proxied")
    // It tries to when there is something for it to send.
    try #require(
      rig["proxied"].prints(ServiceKitLog.partitionsAssigned),
      "\(rig["proxied"].output)")
    try rig.produceRequests(0..<200, padding: 20)
    try rig.addGatewayFaults(
      #"[{"id":"stream_reset","when":{"every":7}},{"id":"any_answer","reason":"BadDeviceToken","#
        + #""when":{"every":5}},{"id":"goaway_shutdown","when":{"nth":30}}]"#)
    try rig.produceRequests(200..<400, padding: 20)
    // What nobody can send, and what is no request at all.
    try rig.produce(rig.names.requests, 0..<3) {
      (PipelineRig.token($0), "{\"token\":\"\(PipelineRig.token($0))\"}")
    }
    return rig
  }

  @Test func `no log and no status page holds a token, a key, a password or a payload`() throws {
    let rig = try busyRig()
    let tokens = try providerTokens(rig)
    let hasEnded = eventually(pauseMilliseconds: 200) {
      rig["martlet-sender"].counter("delivered") > 60
        && rig["martlet-feedback"].counter("feedback") > 10
    }
    #expect(hasEnded, "\(rig["martlet-sender"].output.suffix(2_000))")
    #expect(rig["proxied"].prints(SenderLog.notConnected, withinMilliseconds: 30_000))
    let shown =
      try Self.services.map { name in
        (name, rig[name].output + (try pages(rig[name])))
      } + [("proxied", rig["proxied"].output)]
    let keys = try keyMaterial(rig)
    #expect(!tokens.isEmpty && !keys.isEmpty)
    #expect(rig["martlet-sender"].output.contains(" debug "), "nothing was logged at this level")
    for (name, text) in shown {
      for token in tokens { #expect(!text.contains(token), "\(name) shows a provider token") }
      for key in keys { #expect(!text.contains(key), "\(name) shows a signing key") }
      #expect(!text.contains(Self.proxyPassword), "\(name) shows the proxy's password")
      #expect(!text.contains(String(repeating: "x", count: 20)), "\(name) shows a payload")
      let whole = (0..<400).map(PipelineRig.token).first { text.contains($0) }
      #expect(whole == nil, "\(name) shows a whole device token")
    }
    #expect(rig.stop("proxied") != nil)
    rig.stop()
  }

  /// The provider tokens that the signer has published, and their parts: a part is too much, too.
  private func providerTokens(_ rig: PipelineRig) throws -> [String] {
    let form = #/eyJ[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+\.[A-Za-z0-9_\-]+/#
    var tokens: [String] = []
    _ = try rig.read(
      rig.names.providerTokens,
      { record in
        let text = record.value ?? ""
        tokens += text.matches(of: form).map { String($0.output) }
      }, until: { !tokens.isEmpty })
    return tokens.flatMap { token in
      [token] + token.split(separator: ".").dropFirst().map { String($0) }
    }
  }

  /// A line out of the middle of each private key.
  private func keyMaterial(_ rig: PipelineRig) throws -> [String] {
    let found = try BuiltProgram.run(
      "/usr/bin/find", [rig.keys, "-name", "*.p8", "-o", "-name", "*-key.pem"], in: rig.folder)
    return try found.output.split(separator: "\n").flatMap { path in
      try File.text(String(path)).split(separator: "\n")
        .filter { !$0.hasPrefix("-----") && $0.count > 20 }.map(String.init)
    }
  }

  /// All status pages of a program; none for one that has not said where they are.
  private func pages(_ program: BuiltProgram) throws -> String {
    guard let url = StatusPageURL.find(in: program.output) else { return "" }
    let client = HTTPClient(timeoutMilliseconds: 30_000)
    return try ["/metrics", "/healthz", "/readyz", "/version", "/debug/state"].map { path in
      try client.get(url + path).text
    }.joined(separator: "\n")
  }
}
