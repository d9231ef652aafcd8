// SPDX-License-Identifier: Apache-2.0

/// The head of a proxy's answer to CONNECT (RFC 9110 §9.3.6), as far as it says why there is no tunnel.
public struct ProxyAnswer: Equatable, Sendable {
  /// The most bytes that a proxy may say before the tunnel.
  public static let limit = 16 * 1_024

  public let status: Int
  /// The words behind the status, printable.
  public let reason: String
  /// The ways of authentication that it offers, as it names them: `Basic`, `Digest`.
  public let schemes: [String]
  /// The proxy's own account of what went wrong, with the field that it stands in (`X-Squid-Error`; `Proxy-Status`,
  /// RFC 9209), printable; empty without one.
  public let account: String

  /// Reads a head, with or without the empty line at its end; nil if it is not one of HTTP/1.
  public init?(head: [UInt8]) {
    let lines = head.split(separator: 0x0A, omittingEmptySubsequences: false).map { line in
      line.last == 0x0D ? line.dropLast() : line
    }
    guard let first = lines.first, first.starts(with: Array("HTTP/1.".utf8)) else { return nil }
    let words = first.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: true)
    guard words.count >= 2, words[1].count == 3,
      let status = Int(String(decoding: words[1], as: UTF8.self))
    else { return nil }
    self.status = status
    reason = words.count > 2 ? Self.printable(words[2], most: 64) : ""
    var schemes: [String] = []
    var account = ""
    for line in lines.dropFirst() {
      guard let colon = line.firstIndex(of: UInt8(ascii: ":")) else { continue }
      let name = String(decoding: line[..<colon], as: UTF8.self)
      let value = line[line.index(after: colon)...].drop { $0 == 0x20 || $0 == 0x09 }
      switch name.lowercased() {
      // tinyproxy answers 401, with the field of a server.
      case "proxy-authenticate", "www-authenticate": Self.addSchemes(value, to: &schemes)
      case "x-squid-error", "proxy-status":
        if account.isEmpty { account = "\(name): \(Self.printable(value, most: 128))" }
      default: break
      }
    }
    self.schemes = schemes
    self.account = account
  }

  public var opensTunnel: Bool { (200..<300).contains(status) }

  /// The answer itself follows (RFC 9110 §15.2).
  public var isInterim: Bool { (100..<200).contains(status) && status != 101 }

  /// Status, words and account, for messages.
  var text: String {
    let line = reason.isEmpty ? "\(status)" : "\(status) \(reason)"
    return account.isEmpty ? line : "\(line) (\(account))"
  }

  /// The schemes of a list of challenges (RFC 9110 §11.6.1): of each element the first word, unless that is a parameter
  /// of the challenge before it. Each once, whatever field it stands in.
  private static func addSchemes(_ value: ArraySlice<UInt8>, to found: inout [String]) {
    var isQuoted = false
    let elements = value.split(omittingEmptySubsequences: true) { byte in
      if byte == UInt8(ascii: "\"") { isQuoted.toggle() }
      return byte == UInt8(ascii: ",") && !isQuoted
    }
    for element in elements {
      let word = element.drop { $0 == 0x20 || $0 == 0x09 }.prefix { $0 != 0x20 && $0 != 0x09 }
      if word.isEmpty || word.contains(UInt8(ascii: "=")) { continue }
      let text = printable(word, most: 32)
      if !found.contains(where: { $0.utf8.elementsEqual(text.utf8) }), found.count < 8 {
        found.append(text)
      }
    }
  }

  private static func printable(_ bytes: ArraySlice<UInt8>, most: Int) -> String {
    let shown = bytes.prefix(most).map { (32..<127).contains($0) ? $0 : UInt8(ascii: "?") }
    return String(decoding: shown, as: UTF8.self)
  }
}

/// Why a proxy gives no tunnel: what it did, and what helps. Where several causes are possible, all are named. Holds no
/// secret.
public struct ProxyFailure: Error, Equatable, Sendable, CustomStringConvertible {
  public let words: String
  public let remedy: String

  public var description: String { "\(words); \(remedy)" }

  init(_ words: String, _ remedy: String) {
    self.words = words
    self.remedy = remedy
  }

  /// The proxy answered CONNECT with another status than 2xx.
  ///
  /// - Parameters:
  ///   - target: `host:port` of the gateway.
  ///   - hasCredentials: a user and a password were sent.
  public init(_ answer: ProxyAnswer, target: String, hasCredentials: Bool) {
    let refusal = "the proxy refuses the tunnel to \(target): \(answer.text)"
    switch answer.status {
    case 401, 407: self.init(authentication: answer, refusal, hasCredentials: hasCredentials)
    case 403:
      self.init(
        refusal,
        "its rules forbid this host, this port or this client: let it open tunnels (CONNECT) to \(target)"
      )
    case 400, 405, 501:
      self.init(
        refusal,
        "it takes no CONNECT: it is no forward proxy (a web server, a reverse proxy), or tunnels are turned off or not"
          + " allowed to this port")
    case 404, 410:
      self.init(
        refusal,
        "its DNS does not know the host, or it is a web server and no forward proxy")
    case 429: self.init(refusal, "it limits this client's tunnels: raise its limit")
    case 500..<600: self.init(unreachable: answer, target)
    case 300..<400:
      self.init(refusal, "a portal that wants a login answers in its place, or it is no proxy")
    default: self.init(refusal, "see the proxy's own log")
    }
  }

  private init(authentication answer: ProxyAnswer, _ refusal: String, hasCredentials: Bool) {
    let offers = answer.schemes.joined(separator: ", ")
    // One that names no scheme may still mean Basic.
    let takesBasic =
      answer.schemes.isEmpty || answer.schemes.contains { $0.lowercased() == "basic" }
    if !takesBasic {
      self.init(
        "\(refusal); it offers \(offers) only, and Martlet speaks Basic",
        "let the proxy offer Basic to this client, or let this client through without a password"
          + (hasCredentials ? "; user and password may be right" : ""))
    } else if hasCredentials {
      self.init(
        "\(refusal); it does not accept the user and password that it was sent",
        "correct proxy-credentials, or the proxy's users and what this user may do")
    } else {
      self.init("\(refusal); it wants a user and a password", "set proxy-credentials")
    }
  }

  private init(unreachable answer: ProxyAnswer, _ target: String) {
    let words = "the proxy cannot open the tunnel to \(target): \(answer.text)"
    let causes =
      if answer.account.contains("ERR_DNS_FAIL") || answer.account.contains("dns_error") {
        "its DNS does not resolve the host: correct the name, or the proxy's DNS"
      } else if answer.account.contains("ERR_CONNECT_FAIL")
        || answer.account.contains("connection_refused")
        || answer.account.contains("destination_ip_unroutable")
      {
        "its own connection to the gateway fails: its route, a firewall behind it, or the address"
      } else if answer.status == 504 {
        "its own connection to the gateway does not come about in time: its route, its DNS, or a firewall behind it"
      } else {
        "its own DNS, route or firewall fails, the gateway refuses it, or it is overloaded: see the proxy's log"
      }
    self.init(words, causes)
  }

  /// The proxy closed the connection instead of answering.
  ///
  /// - Parameter hasBegun: a part of an answer came.
  public static func closed(hasBegun: Bool) -> ProxyFailure {
    ProxyFailure(
      hasBegun
        ? "the proxy closed the connection in the middle of its answer"
        : "the proxy closed the connection without an answer",
      "it is no HTTP proxy (SOCKS, or one that wants TLS itself), does not allow this client, or cannot reach the"
        + " gateway and does not say so: see its log")
  }

  /// What it answered is no answer of HTTP/1.
  ///
  /// - Parameter first: the beginning of it.
  public static func notHTTP(_ first: [UInt8]) -> ProxyFailure {
    let words = "the proxy does not answer like an HTTP proxy"
    // A TLS alert or handshake record; the versions of SOCKS.
    switch first.first {
    case 0x15, 0x16: return ProxyFailure(words, "it wants TLS itself: use its port for plain HTTP")
    case 0x00, 0x04, 0x05:
      return ProxyFailure(words, "it seems to be a SOCKS proxy: use the port of an HTTP proxy")
    default: return ProxyFailure(words, "correct the host and port of proxy")
    }
  }

  /// More came than a head has.
  public static let endless = ProxyFailure(
    "the proxy's answer has no end", "correct the host and port of proxy")

  /// The tunnel was opened, and ended before anything came out of it.
  public static func closedTunnel(to target: String) -> ProxyFailure {
    ProxyFailure(
      "the proxy opened the tunnel to \(target) and closed it before the gateway said a word",
      "the proxy says 200 before it knows whether it reaches the gateway and does not (its DNS, its route, a firewall"
        + " behind it), inspects TLS and breaks off, or the gateway itself closed: see the proxy's log"
    )
  }

  /// No answer came in time.
  public static let silent = ProxyFailure(
    "the proxy did not answer in time",
    "its own connection to the gateway does not come about (a firewall behind it, its DNS), or it is overloaded"
  )
}
