// SPDX-License-Identifier: Apache-2.0
import CCurl

/// libcurl wants this once, before its first use.
let curlIsReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

public struct HTTPAnswer: Sendable {
  public let status: Int
  /// Empty when the body was streamed.
  public let body: [UInt8]

  public var text: String { String(decoding: body, as: UTF8.self) }
}

public struct HTTPClientError: Error, Sendable, CustomStringConvertible {
  public let description: String
}

/// A blocking HTTP/1.1 client over libcurl for administration: one request at a time on the
/// calling thread, over one kept connection.
public final class HTTPClient {
  private let easy: UnsafeMutableRawPointer
  private let timeoutMilliseconds: Int
  private let roots: String?

  /// - Parameters:
  ///   - timeoutMilliseconds: Bound of a whole request; a streamed one may take longer as long as
  ///     bytes arrive within each such time.
  ///   - roots: PEM file of certificate authorities to trust instead of the system's.
  public init(timeoutMilliseconds: Int = 10_000, roots: String? = nil) {
    self.roots = roots
    precondition(curlIsReady, "libcurl does not start")
    guard let easy = curl_easy_init() else { preconditionFailure("libcurl is out of memory") }
    self.easy = easy
    self.timeoutMilliseconds = timeoutMilliseconds
  }

  deinit { curl_easy_cleanup(easy) }

  public func get(_ url: String) throws(HTTPClientError) -> HTTPAnswer {
    try send("GET", url, nil)
  }

  public func put(_ url: String, _ body: [UInt8] = []) throws(HTTPClientError) -> HTTPAnswer {
    try send("PUT", url, body)
  }

  public func post(
    _ url: String, _ body: [UInt8] = [], contentType: String = "application/json",
    headers: [String] = []
  ) throws(HTTPClientError) -> HTTPAnswer {
    try send("POST", url, body, contentType: contentType, headers: headers)
  }

  /// - Parameter headers: further fields, each as `Name: value`.
  public func send(
    _ method: String, _ url: String, _ body: [UInt8]?, contentType: String = "application/json",
    headers: [String] = []
  ) throws(HTTPClientError) -> HTTPAnswer {
    try request(method, url, body, contentType, headers, AnswerSink(limit: 64 << 20))
  }

  public func delete(_ url: String) throws(HTTPClientError) -> HTTPAnswer {
    try send("DELETE", url, nil)
  }

  /// Hands the body over in parts as they arrive, whatever its length; a part ends anywhere.
  public func stream(
    _ url: String, _ part: @escaping (UnsafeRawBufferPointer) -> Void
  ) throws(HTTPClientError) -> HTTPAnswer {
    try request("GET", url, nil, "", [], AnswerSink(limit: 0, part: part), isStreamed: true)
  }

  private func request(
    _ method: String, _ url: String, _ body: [UInt8]?, _ contentType: String,
    _ fields: [String], _ sink: AnswerSink, isStreamed: Bool = false
  ) throws(HTTPClientError) -> HTTPAnswer {
    // libcurl must not write where the answer was.
    defer { curl_easy_reset(easy) }
    var headers: UnsafeMutablePointer<curl_slist>?
    defer { curl_slist_free_all(headers) }
    if body != nil { headers = curl_slist_append(headers, "Content-Type: \(contentType)") }
    for field in fields { headers = curl_slist_append(headers, field) }
    // Waiting for "100 Continue" costs a second against servers that do not send it.
    headers = curl_slist_append(headers, "Expect:")
    martlet_curl_set_text(easy, CURLOPT_URL, url)
    martlet_curl_set_text(easy, CURLOPT_CUSTOMREQUEST, method)
    martlet_curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
    martlet_curl_set_text(easy, CURLOPT_PROXY, "")
    trustOnly(roots, on: easy)
    martlet_curl_set_headers(easy, headers)
    setTimeout(isStreamed)
    sink.attach(to: easy)
    let code = (body ?? []).withUnsafeBytes { bytes in
      if body != nil { martlet_curl_set_body(easy, bytes.baseAddress, curl_off_t(bytes.count)) }
      return withExtendedLifetime(sink) { curl_easy_perform(easy) }
    }
    guard code == CURLE_OK else {
      let reason = sink.isOverflown ? "the answer is too long" : sink.problem(code)
      throw HTTPClientError(description: "\(method) \(url): \(reason)")
    }
    return HTTPAnswer(status: martlet_curl_status(easy), body: sink.body)
  }

  private func setTimeout(_ isStreamed: Bool) {
    martlet_curl_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, timeoutMilliseconds)
    if isStreamed {
      martlet_curl_set_number(easy, CURLOPT_LOW_SPEED_LIMIT, 1)
      martlet_curl_set_number(easy, CURLOPT_LOW_SPEED_TIME, max(1, timeoutMilliseconds / 1_000))
    } else {
      martlet_curl_set_number(easy, CURLOPT_TIMEOUT_MS, timeoutMilliseconds)
    }
  }
}
