// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import HTTP
import HTTP2
import Records
import Settings
import TestSupport
import Testing

@testable import Sender

/// Through an HTTP proxy.
@Suite(.serialized) struct ProxyTests {
  @Test
  func `pushes go through CONNECT with credentials from a file; TLS is with the gateway`() throws {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init()])
    // user:p@ss word
    let proxy = try TinyProxy(to: gateways[0].address, authorization: "Basic dXNlcjpwQHNzIHdvcmQ=")
    try File.write(rig.folder.file("proxy"), Array("user:p@ss word\n".utf8))
    try rig.publishToken()
    try rig.startSender(
      for: gateways,
      [
        "--proxy", "http://\(proxy.address)", "--proxy-credentials", rig.folder.file("proxy"),
        // On a busy machine the pool would grow.
        "--max-connections", "1",
      ])
    try rig.sendMany(50)
    let receipts = try rig.receipts(50)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(receipts.count == 50)
    let port = gateways[0].address.port
    #expect(proxy.seen.tunnels == 1)
    #expect(proxy.seen.requests[0].hasPrefix("CONNECT gateway.test:\(port) HTTP/1.1\r\n"))
  }

  @Test func `a proxy that dies and comes back: what was to be sent meanwhile waits, and goes out`()
    throws
  {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init()])
    var proxy: TinyProxy? = try TinyProxy(to: gateways[0].address)
    let address = proxy!.address
    try rig.publishToken()
    let sender = try rig.startSender(for: gateways, ["--proxy", "http://\(address)"])
    try rig.sendMany(0..<20)
    #expect(try rig.receipts(of: 0..<20).count == 20)
    proxy = nil
    #expect(eventually { sender.counter("connections_lost") > 0 })
    let connects = sender.counter("connects")
    try rig.sendMany(20..<200)
    #expect(eventually { sender.counter("connects") >= connects + 2 })
    let back = try TinyProxy(to: gateways[0].address, port: address.port)
    let receipts = try rig.receipts(of: 20..<200)
    #expect(receipts.count == 180)
    #expect(receipts.allSatisfy { $0.outcome == .delivered && $0.attempts == 1 })
    #expect(back.seen.tunnels >= 1)
    #expect(sender.counter("dead_lettered") == 0)
  }

  @Test func `credentials in the URL are percent-decoded`() throws {
    let rig = try SenderRig()
    let gateways = try rig.gateways([.init()])
    let proxy = try TinyProxy(to: gateways[0].address, authorization: "Basic dXNlcjpwQHNzIHdvcmQ=")
    try rig.publishToken()
    try rig.startSender(for: gateways, ["--proxy", "http://user:p%40ss%20word@\(proxy.address)"])
    try rig.sendMany(5)
    #expect(try rig.receipts(5).count == 5)
  }

  @Test func `a refusal is an error with the proxy's demand, and without our password`() throws {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    let strict = try TinyProxy(to: gateway.address, authorization: "Basic xyz")
    let closed = try TinyProxy(to: gateway.address, answer: "HTTP/1.0 403 No way\r\n\r\n")
    let broken = try TinyProxy(to: gateway.address, answer: "SSH-2.0-OpenSSH\r\n\r\n")
    let refusal = "the proxy refuses the tunnel to gateway.test:443"
    #expect(
      try words(rig, strict, nil)
        == "\(refusal): 407 Proxy Authentication Required; it wants a user and a password")
    #expect(
      try words(rig, strict, "user:secret")
        == "\(refusal): 407 Proxy Authentication Required; it does not accept the user and password that it was sent"
    )
    let odd = try TinyProxy(to: gateway.address, answer: "HTTP/1.0 401 Unauthorized\r\n\r\n")
    #expect(
      try words(rig, odd, "user:secret")
        == "\(refusal): 401 Unauthorized; it does not accept the user and password that it was sent"
    )
    let digest = try TinyProxy(
      to: gateway.address, authorization: "Digest x",
      challenges: #"Digest realm="x", nonce="a", qop="auth""#)
    #expect(
      try words(rig, digest, "user:secret")
        == "\(refusal): 407 Proxy Authentication Required; it offers Digest only, and Martlet speaks Basic"
    )
    #expect(try words(rig, closed, nil) == "\(refusal): 403 No way")
    #expect(try words(rig, broken, nil) == "the proxy does not answer like an HTTP proxy")
  }

  @Test func `a tunnel that is closed at once is the proxy's, and so is one that it cannot open`()
    throws
  {
    let rig = try SenderRig()
    let gateway = try rig.gateways([.init()])[0]
    let hasty = try TinyProxy(to: gateway.address, closesTunnels: true)
    #expect(
      try words(rig, hasty, nil)
        == "the proxy opened the tunnel to gateway.test:443 and closed it before the gateway said a word"
    )
    let squid = try TinyProxy(
      to: gateway.address,
      answer: "HTTP/1.1 503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\n\r\n")
    let found = try failure(rig, squid, nil)
    #expect(found?.description.contains("(X-Squid-Error: ERR_DNS_FAIL 0)") == true)
    #expect(found?.description.contains("its DNS does not resolve the host") == true)
    let mute = try TinyProxy(to: gateway.address, answer: "", closesTunnels: true)
    #expect(try words(rig, mute, nil) == "the proxy closed the connection without an answer")
    let socks = try TinyProxy(to: gateway.address, answer: "\u{5}\u{7f}\r\n\r\n")
    #expect(try failure(rig, socks, nil)?.description.contains("SOCKS") == true)
  }

  private func words(
    _ rig: SenderRig, _ proxy: TinyProxy, _ credentials: String?
  ) throws -> String? {
    guard case .proxy(let failure) = try failure(rig, proxy, credentials) else { return nil }
    #expect(!failure.description.contains("secret"))
    return failure.words
  }

  private func failure(
    _ rig: SenderRig, _ proxy: TinyProxy, _ credentials: String?
  ) throws -> ConnectionFailure? {
    let poller = try Poller()
    let connection = try HTTP2ClientConnection(
      poller: poller, token: 1, tls: try .client(roots: .pem(rig.authority.certificatePEM)),
      serverName: SenderRig.gatewayName)
    connection.connect(
      to: proxy.address,
      through: ProxyRequest(host: SenderRig.gatewayName, port: 443, credentials: credentials))
    var events: [ReadyEvent] = []
    let deadline = MonotonicClock.milliseconds() + 60_000
    while !connection.isClosed, MonotonicClock.milliseconds() < deadline {
      poller.wait(timeoutMilliseconds: 10, into: &events)
      for event in events {
        connection.socketReady(
          readable: event.readable, writable: event.writable, hangup: event.hangup)
      }
      connection.flush()
    }
    for case .closed(let failure) in connection.drainNotices() { return failure }
    return nil
  }

  @Test(arguments: [
    ("https://proxy:3128", "must be http://"), ("http://proxy", "host:port"),
    ("http://hidden@proxy:3128", "user:password"),
    ("http://u:hidden%0a@proxy:1", "user:password"),
    ("http://u:hidden%+a@proxy:1", "user:password"),
    ("http://u:hidden%4@proxy:1", "user:password"),
  ])
  func `settings: what is wrong is named, the password is not`(_ url: String, _ problem: String)
    throws
  {
    do throws(ValueProblem) {
      _ = try ProxyURL(parsing: url)
      Issue.record("\(url) was taken")
    } catch {
      #expect(error.text.contains(problem))
      #expect(!error.text.contains("hidden"))
    }
  }

  @Test func `a file with the proxy's password that others can read is refused`() throws {
    let folder = TemporaryFolder()
    let path = folder.file("proxy")
    try File.write(path, Array("user:secret".utf8), mode: 0o644)
    let flags = ["--kafka", "localhost:1", "--proxy", "http://p:1", "--proxy-credentials", path]
    let values = try SenderSettings.table.values(flags)
    do throws(SettingErrors) {
      _ = try SenderSettings(values)
      Issue.record("an exposed password was taken")
    } catch {
      #expect(error.errors.contains { "\($0)".contains("chmod 600") })
      #expect(!error.errors.contains { "\($0)".contains("secret") })
    }
    #expect(!values.report.contains { $0.contains("http://p:1") }, "secret, as it may hold one")
  }
}
