// SPDX-License-Identifier: Apache-2.0

import HTTP
import Testing

@Suite struct ProxyAnswerTests {
  private func answer(_ text: String) -> ProxyAnswer? { ProxyAnswer(head: Array(text.utf8)) }

  private func failure(_ head: String, sends credentials: Bool = false) throws -> ProxyFailure {
    ProxyFailure(
      try #require(answer(head)), target: "api.push.apple.com:443", hasCredentials: credentials)
  }

  @Test func `the head of an answer is read as far as it explains a refusal`() throws {
    let squid = try #require(
      answer(
        "HTTP/1.1 503 Service Unavailable\r\nServer: squid/5.7\r\nX-Squid-Error: ERR_DNS_FAIL 0\r\n\r\n"
      ))
    #expect(squid.status == 503 && squid.reason == "Service Unavailable")
    #expect(squid.account == "X-Squid-Error: ERR_DNS_FAIL 0" && squid.schemes.isEmpty)
    let status = answer("HTTP/1.1 502 x\nproxy-status: p; error=connection_refused\n")
    #expect(status?.account == "proxy-status: p; error=connection_refused")
    let short = answer("HTTP/1.0 200\r\n")
    #expect(short?.opensTunnel == true && short?.reason == "")
    #expect(answer("HTTP/1.1 200 Connection established\r\n\r\n")?.opensTunnel == true)
    #expect(answer("HTTP/1.1 199 x\r\n")?.opensTunnel == false)
    for text in [
      " HTTP/1.1 200 OK\r\n\r\n", "", "HTTP/2 200", "SSH-2.0", "HTTP/1.1", "HTTP/1.1 20",
      "HTTP/1.1 abc x", "\r\n",
    ] {
      #expect(answer(text) == nil, "\(text)")
    }
    #expect(answer("HTTP/1.1 503 \u{1b}[31mx\r\n")?.reason == "?[31mx")
  }

  @Test(arguments: [
    ("Basic realm=\"a, b\"", ["Basic"]),
    ("Digest realm=\"x\", nonce=\"y\", qop=\"auth,z\"", ["Digest"]),
    ("Negotiate, Basic realm=\"x\"", ["Negotiate", "Basic"]), ("NTLM", ["NTLM"]), ("", []),
    ("Digest realm=x, algorithm=MD5, Basic realm=y", ["Digest", "Basic"]), (",,", []),
  ])
  func `the schemes are found among their parameters`(value: String, schemes: [String]) {
    let head = "HTTP/1.1 407 x\r\nProxy-Authenticate: \(value)\r\n\r\n"
    #expect(answer(head)?.schemes == schemes)
  }

  @Test func `schemes of several lines are all known, each once`() {
    let head =
      "HTTP/1.1 407 x\r\nProxy-Authenticate: Digest realm=\"x\"\r\nproxy-authenticate: basic\r\n"
      + "Proxy-Authenticate: Digest y=1\r\n\r\n"
    #expect(answer(head)?.schemes == ["Digest", "basic"])
  }

  @Test func `a refusal for want of authentication tells the scheme from the password`() throws {
    let basic = "HTTP/1.1 407 Required\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n"
    #expect(
      try failure(basic).description.hasSuffix(
        "it wants a user and a password; set proxy-credentials"))
    #expect(
      try failure(basic, sends: true).words.hasSuffix(
        "does not accept the user and password that it was sent"))
    for head in [
      "HTTP/1.1 407 Required\r\nProxy-Authenticate: Digest realm=\"x\"\r\n\r\n",
      "HTTP/1.1 407 Required\r\nProxy-Authenticate: Negotiate\r\nProxy-Authenticate: NTLM\r\n\r\n",
    ] {
      for sends in [false, true] {
        let found = try failure(head, sends: sends)
        #expect(found.words.contains("only, and Martlet speaks Basic"))
        #expect(!found.description.contains("wrong"))
        #expect(found.remedy.contains("may be right") == sends)
      }
    }
    // tinyproxy, without a scheme.
    let odd = "HTTP/1.0 401 Unauthorized\r\n\r\n"
    #expect(try failure(odd, sends: true).remedy.hasPrefix("correct proxy-credentials"))
  }

  @Test(arguments: [
    (
      "503 Service Unavailable\r\nX-Squid-Error: ERR_DNS_FAIL 0",
      ["ERR_DNS_FAIL", "its DNS does not resolve"]
    ),
    (
      "503 Service Unavailable\r\nX-Squid-Error: ERR_CONNECT_FAIL 111",
      ["ERR_CONNECT_FAIL 111", "its route", "firewall behind it"]
    ),
    ("502 Bad Gateway", ["its own DNS, route or firewall fails"]),
    ("504 Gateway Timeout", ["in time", "its DNS", "firewall behind it"]),
    ("500 Unable to connect", ["its own DNS, route or firewall fails"]),
    ("404 No such domain", ["its DNS does not know the host", "web server"]),
    ("405 Method Not Allowed", ["takes no CONNECT", "turned off"]),
    (
      "403 Forbidden\r\nX-Squid-Error: ERR_ACCESS_DENIED 0",
      ["ERR_ACCESS_DENIED", "its rules forbid"]
    ),
    ("302 Found", ["portal"]), ("418 Teapot", ["see the proxy's own log"]),
  ])
  func `every other refusal names what may be its cause, and the target`(
    head: String, words: [String]
  ) throws {
    let found = try failure("HTTP/1.1 \(head)\r\n\r\n")
    #expect(found.words.contains("api.push.apple.com:443"))
    for word in words { #expect(found.description.contains(word), "\(found)") }
    if !head.hasPrefix("403") { #expect(!found.remedy.contains("let it open tunnels")) }
  }

  @Test func `an answer that is no HTTP says what it may be`() {
    #expect(ProxyFailure.notHTTP([0x15, 3, 1]).remedy.contains("TLS itself"))
    #expect(ProxyFailure.notHTTP([5, 0xFF]).remedy.contains("SOCKS"))
    #expect(ProxyFailure.notHTTP(Array("SSH".utf8)).remedy.contains("host and port"))
    #expect(ProxyFailure.closedTunnel(to: "a:1").words.contains("a:1"))
  }
}
