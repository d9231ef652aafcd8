// SPDX-License-Identifier: Apache-2.0
import CCurl
import HTTP

/// A blocking HTTP/2 client with TLS over libcurl, for administration of a gateway: one request at a time
/// on the calling thread, over one kept connection.
public final class HTTP2Client {
  /// Whom to trust, and how to show who we are.
  public struct Identity: Sendable {
    /// A PEM file of roots to trust instead of the system's.
    public var roots: String?
    /// A client certificate with its chain, and its key, as PEM; the key is a secret and not encrypted.
    public var certificate: [UInt8]?
    public var key: [UInt8]?
    /// The name in the server's certificate, if it is not the host that is connected to.
    public var serverName: String?

    public init(
      roots: String? = nil, certificate: [UInt8]? = nil, key: [UInt8]? = nil,
      serverName: String? = nil
    ) {
      self.roots = roots
      self.certificate = certificate
      self.key = key
      self.serverName = serverName
    }
  }

  /// An HTTP proxy that opens tunnels.
  public struct Proxy: Sendable {
    let host: String
    let port: UInt16
    let credentials: String?

    /// - Parameter credentials: `user:password`, a secret; nil without one.
    public init(host: String, port: UInt16, credentials: String? = nil) {
      self.host = host
      self.port = port
      self.credentials = credentials
    }

    fileprivate var address: String { "\(HTTP2Client.bracketed(host)):\(port)" }

    /// The credentials as libcurl takes them: it decodes percent signs in the user name and the password.
    fileprivate var encodedCredentials: String? {
      credentials?.split(separator: "%", omittingEmptySubsequences: false).joined(separator: "%25")
    }
  }

  public struct Answer: Sendable {
    public let status: Int
    /// Names in lower case, in the order in which they came.
    public let headers: [(name: String, value: String)]
    public let body: [UInt8]

    /// The value of the first header with this name (lower case).
    public func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }
  }

  public struct Failure: Error, Sendable, CustomStringConvertible {
    public let description: String
    /// The request may have reached the server, which may have carried it out.
    public let mayHaveArrived: Bool
  }

  private static let bodyLimit = 16 << 20

  private let easy: UnsafeMutableRawPointer
  private let host: String
  private let port: UInt16
  private let identity: Identity
  private let proxy: Proxy?
  private let timeoutMilliseconds: Int

  /// - Parameters:
  ///   - proxy: what the connection goes through; nil for none, whatever the environment says.
  ///   - timeoutMilliseconds: bound of a whole request.
  public init(
    host: String, port: UInt16, _ identity: Identity, proxy: Proxy? = nil,
    timeoutMilliseconds: Int = 30_000
  ) {
    precondition(curlIsReady, "libcurl does not start")
    guard let easy = curl_easy_init() else { preconditionFailure("libcurl is out of memory") }
    self.easy = easy
    self.host = host
    self.port = port
    self.identity = identity
    self.proxy = proxy
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  deinit { curl_easy_cleanup(easy) }

  /// Sends a request and waits for its answer, whatever its status.
  ///
  /// - Parameter path: begins with a slash.
  public func send(
    _ method: String, _ path: String, headers: [(String, String)], body: [UInt8]? = nil
  ) throws(Failure) -> Answer {
    // libcurl must not write where the answer was.
    defer { curl_easy_reset(easy) }
    var list: UnsafeMutablePointer<curl_slist>?
    var places: UnsafeMutablePointer<curl_slist>?
    defer {
      curl_slist_free_all(list)
      curl_slist_free_all(places)
    }
    for (name, value) in headers { list = curl_slist_append(list, "\(name): \(value)") }
    let (place, name) = (target, Self.bracketed(identity.serverName ?? host))
    if "\(name):\(port)" != place {
      places = curl_slist_append(nil, "\(name):\(port):\(place)")
    }
    martlet_curl_set_text(easy, CURLOPT_URL, "https://\(name):\(port)\(path)")
    martlet_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, method)
    martlet_curl_set_list(easy, CURLOPT_CONNECT_TO, places)
    martlet_curl_set_headers(easy, list)
    setConnection()
    let sink = AnswerSink(limit: Self.bodyLimit)
    sink.attach(to: easy)
    let code = (body ?? []).withUnsafeBytes { bytes in
      if body != nil { martlet_curl_set_body(easy, bytes.baseAddress, curl_off_t(bytes.count)) }
      return withExtendedLifetime(sink) { curl_easy_perform(easy) }
    }
    guard code == CURLE_OK else { throw failure(code, sink) }
    return Answer(status: martlet_curl_status(easy), headers: sink.headers, body: sink.body)
  }

  private func setConnection() {
    martlet_curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
    martlet_curl_set_text(easy, CURLOPT_PROXY, proxy.map { "http://\($0.address)" } ?? "")
    martlet_curl_set_text(easy, CURLOPT_NOPROXY, "")
    if let credentials = proxy?.encodedCredentials {
      martlet_curl_set_text(easy, CURLOPT_PROXYUSERPWD, credentials)
    }
    martlet_curl_set_number(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
    martlet_curl_set_number(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    martlet_curl_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, timeoutMilliseconds)
    martlet_curl_set_number(easy, CURLOPT_TIMEOUT_MS, timeoutMilliseconds)
    trustOnly(identity.roots, on: easy)
    if let certificate = identity.certificate, let key = identity.key {
      martlet_curl_set_blob(easy, CURLOPT_SSLCERT_BLOB, certificate, certificate.count)
      martlet_curl_set_blob(easy, CURLOPT_SSLKEY_BLOB, key, key.count)
    }
  }

  private func failure(_ code: CURLcode, _ sink: AnswerSink) -> Failure {
    let words = sink.isOverflown ? "the answer is too long" : sink.problem(code)
    // The request to a proxy counts, too.
    let hasLeft =
      martlet_curl_request_bytes(easy) > 0
      && (proxy == nil || martlet_curl_was_secured(easy) != 0)
    guard let proxy else {
      return Failure(description: "\(target): \(words)", mayHaveArrived: hasLeft)
    }
    return Failure(
      description:
        "\(target) through the proxy \(proxy.address): \(hasLeft ? words : tunnelProblem(code, sink, words))",
      mayHaveArrived: hasLeft)
  }

  private var target: String { "\(Self.bracketed(host)):\(port)" }

  /// A host as a URI names it (RFC 3986 §3.2.2).
  private static func bracketed(_ host: String) -> String {
    host.contains(":") ? "[\(host)]" : host
  }

  /// Why there is no TLS with the server behind a proxy.
  private func tunnelProblem(_ code: CURLcode, _ sink: AnswerSink, _ words: String) -> String {
    let status = martlet_curl_connect_status(easy)
    if status != 0, let answer = ProxyAnswer(head: sink.head), !answer.opensTunnel {
      return ProxyFailure(
        answer, target: target, hasCredentials: proxy?.credentials != nil
      ).description
    }
    switch code {
    case CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_CONNECT:
      return "\(words); check that the proxy runs and that its address is right"
    case CURLE_OPERATION_TIMEDOUT where status == 0 && sink.head.isEmpty:
      return "\(words); \(ProxyFailure.silent)"
    case CURLE_RECV_ERROR where status == 0, CURLE_GOT_NOTHING where status == 0:
      return "\(ProxyFailure.closed(hasBegun: !sink.head.isEmpty))"
    case CURLE_SSL_CONNECT_ERROR where (200..<300).contains(status):
      return "\(words); \(ProxyFailure.closedTunnel(to: target).remedy)"
    default: return words
    }
  }
}
