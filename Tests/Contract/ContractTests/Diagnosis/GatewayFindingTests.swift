// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct GatewayFindingTests {
  private func facts(
    _ outcome: GatewayFacts.Outcome, host: String = "api.push.apple.com",
    _ environment: Environment = .production, proxy: String? = nil, certificate: String? = nil
  ) -> GatewayFacts {
    GatewayFacts(
      environment: environment, address: "\(host):443", host: host, proxy: proxy,
      certificate: certificate, outcome: outcome)
  }

  @Test func `any reason of APNs tells that it is APNs; nothing else does`() {
    let bad: Set<Reason> = [.badCertificate, .badCertificateEnvironment, .forbidden]
    let sick: Set<Reason> = [
      .internalServerError, .serviceUnavailable, .serviceUnavailableSpaced, .shutdown,
    ]
    for reason in Reason.allCases {
      let found = GatewayFindings.all(
        facts(.answered(status: Int(reason.rule.status), reason: reason.name)))
      let expected: Finding.Status =
        bad.contains(reason) ? .error : sick.contains(reason) ? .warning : .ok
      #expect(found.map(\.status) == [expected], "\(reason)")
    }
    for (status, reason) in [
      (200, ""), (404, ""), (403, "Forbidden by policy"), (502, "Bad gateway"),
    ] {
      let found = GatewayFindings.all(facts(.answered(status: status, reason: reason)))
      #expect(found.map(\.status) == [.error])
      #expect(found[0].message.contains("which APNs does not"))
    }
  }

  @Test func `each way not to get an answer is an error with its own remedy`() {
    let outcomes: [GatewayFacts.Outcome] = [
      .unresolved("a"), .noConnection("b"), .untrusted("c"), .broken("d"), .silent,
      .noServerHello(bytes: 1_540, answersSmall: false),
      .noServerHello(bytes: 1_540, answersSmall: true),
    ]
    let found = outcomes.map { GatewayFindings.all(facts($0))[0] }
    #expect(found.allSatisfy { $0.status == .error && $0.subject == .gateway })
    #expect(Set(found.map(\.remedy)).count == outcomes.count)
    #expect(found.prefix(5).map(\.message) == ["a", "b", "c", "d", "no answer in time"])
    #expect(found[5].message.contains("not to a small one either"))
    #expect(found[6].message.contains("1540 bytes") && found[6].remedy.contains("tls-groups"))
  }

  @Test func `what is not of APNs is quoted, and its likely causes are named`() {
    let found = GatewayFindings.all(
      facts(.answered(status: 200, reason: "", excerpt: "<html>Welcome to the hotel")))[0]
    #expect(found.message == "answers 200, which APNs does not: \"<html>Welcome to the hotel\"")
    for cause in ["name and port", "captive portal", "proxy", "TLS inspection"] {
      #expect(found.remedy.contains(cause))
    }
  }

  @Test func `a root that Apple does not name is a warning, at hosts of Apple's only`() {
    for (host, root, count) in [
      ("api.push.apple.com", "Corporate Root", 1), ("api.push.apple.com", RootFindings.current, 0),
      ("api.push.apple.com", RootFindings.former, 0), ("localhost", "Corporate Root", 0),
    ] {
      var facts = facts(.answered(status: 403, reason: "MissingProviderToken"), host: host)
      facts.root = root
      let found = GatewayFindings.all(facts)
      #expect(found.count == 1 + count && found.last?.status == .ok)
      #expect(found.first?.message.contains(root) == (count == 1))
    }
  }

  @Test func `behind a proxy it is the proxy that cannot be reached or refuses`() {
    for outcome in [GatewayFacts.Outcome.noConnection("x"), .proxy("refuses", remedy: "r")] {
      let found = GatewayFindings.all(facts(outcome, proxy: "10.0.0.1:3128"))[0]
      #expect(found.subject == .proxy && found.place == "10.0.0.1:3128" && found.status == .error)
    }
    let answer = GatewayFindings.all(
      facts(.answered(status: 403, reason: "MissingProviderToken"), proxy: "10.0.0.1:3128"))
    #expect(
      answer[0].status == .ok && answer[0].message.contains("through the proxy 10.0.0.1:3128"))
  }

  @Test func `a certificate that was shown is named, and may be the cause`() {
    let found = GatewayFindings.all(facts(.broken("alert"), certificate: "push.pem"))[0]
    #expect(found.place == "api.push.apple.com:443 with push.pem")
    #expect(found.remedy.contains("revoked"))
  }

  @Test(arguments: [
    ("api.push.apple.com", Environment.sandbox, true), ("api.push.apple.com", .production, false),
    ("API.Sandbox.push.apple.com", .production, true),
    ("api.sandbox.push.apple.com", .sandbox, false),
    ("api.development.push.apple.com", .production, true),
    ("api-broadcast.push.apple.com", .sandbox, true),
    ("api-broadcast.sandbox.push.apple.com", .production, true), ("localhost", .sandbox, false),
    ("localhost", .production, false),
  ])
  func `Apple's hosts in the wrong place`(host: String, environment: Environment, isWrong: Bool) {
    let found = GatewayFindings.all(
      facts(.answered(status: 403, reason: "MissingProviderToken"), host: host, environment))
    #expect(found.map(\.status) == (isWrong ? [.error, .ok] : [.ok]))
  }

  @Test func `the root of today is needed, the former one is not`() {
    func status(_ current: Bool, _ former: Bool) -> Finding.Status {
      RootFindings.all(store: "the system", hasCurrent: current, hasFormer: former).status
    }
    #expect(status(true, true) == .ok)
    #expect(status(true, false) == .ok)
    #expect(status(false, true) == .error)
    #expect(status(false, false) == .error)
    let half = RootFindings.all(store: "the system", hasCurrent: true, hasFormer: false)
    #expect(half.message.contains("AAA Certificate Services"))
  }
}
