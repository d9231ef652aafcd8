// SPDX-License-Identifier: Apache-2.0
import CCurl

/// Sends several POST requests at once over libcurl, without waiting for any: for endpoints that are somebody else's.
///
/// A request has a time limit for everything together, verifies the server's certificate, follows no redirect, uses no
/// proxy, and reads no more than `bodyLimit` bytes of an answer. Owned by one thread.
public final class WebhookPoster {
  /// The outcome of a request.
  public struct Answer: Sendable {
    /// The tag that the request was sent with.
    public let tag: UInt64
    /// nil without an answer. It counts as soon as it has arrived: a body that is too long or too slow is not waited
    /// for.
    public let status: Int?
    public let retryAfter: String?
    /// Why there is no answer; empty otherwise.
    public let problem: String
  }

  /// Bytes of an answer's body.
  public static let bodyLimit = 64 << 10

  private let multi: UnsafeMutableRawPointer
  private let wakeup: Int32
  private let protocols: String
  private let roots: String?
  private var transfers: [UnsafeMutableRawPointer: WebhookTransfer] = [:]
  /// Handles to use again.
  private var idle: [UnsafeMutableRawPointer] = []

  /// - Parameters:
  ///   - wakeup: a descriptor that ends `wait` when it becomes readable.
  ///   - connections: kept open at most.
  ///   - roots: PEM file of certificate authorities to trust instead of the system's.
  public init(wakeup: Int32, connections: Int, allowsHTTP: Bool, roots: String?) {
    precondition(curlIsReady, "libcurl does not start")
    guard let multi = curl_multi_init() else { preconditionFailure("libcurl is out of memory") }
    self.multi = multi
    self.wakeup = wakeup
    self.roots = roots
    protocols = allowsHTTP ? "https,http" : "https"
    _ = martlet_curl_multi_set_number(multi, CURLMOPT_MAXCONNECTS, connections)
  }

  deinit {
    cancelAll()
    for easy in idle { curl_easy_cleanup(easy) }
    curl_multi_cleanup(multi)
  }

  /// Begins a request.
  ///
  /// - Parameters:
  ///   - headers: each as `Name: value`.
  ///   - tag: comes back with the answer.
  public func post(
    _ url: String, headers: [String], body: [UInt8], timeoutMilliseconds: Int, tag: UInt64
  ) {
    guard let easy = idle.popLast() ?? curl_easy_init() else {
      preconditionFailure("libcurl is out of memory")
    }
    curl_easy_reset(easy)
    let transfer = WebhookTransfer(tag: tag, headers: headers, body: body)
    martlet_curl_set_text(easy, CURLOPT_URL, url)
    martlet_curl_set_text(easy, CURLOPT_PROTOCOLS_STR, protocols)
    martlet_curl_set_text(easy, CURLOPT_PROXY, "")
    martlet_curl_set_number(easy, CURLOPT_NOSIGNAL, 1)
    martlet_curl_set_number(easy, CURLOPT_FOLLOWLOCATION, 0)
    martlet_curl_set_number(easy, CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
    trustOnly(roots, on: easy)
    martlet_curl_set_number(easy, CURLOPT_CONNECTTIMEOUT_MS, timeoutMilliseconds)
    martlet_curl_set_number(easy, CURLOPT_TIMEOUT_MS, timeoutMilliseconds)
    martlet_curl_set_headers(easy, transfer.headers)
    martlet_curl_set_body(easy, transfer.body.baseAddress, curl_off_t(transfer.body.count))
    transfer.attach(to: easy)
    transfers[easy] = transfer
    curl_multi_add_handle(multi, easy)
  }

  /// Lets requests go on, until one has ended, the wakeup is readable, or the time is over.
  public func wait(timeoutMilliseconds: Int32) -> [Answer] {
    let answers = perform()
    if !answers.isEmpty { return answers }
    var extra = curl_waitfd(fd: wakeup, events: Int16(CURL_WAIT_POLLIN), revents: 0)
    curl_multi_poll(multi, &extra, 1, timeoutMilliseconds, nil)
    return perform()
  }

  private func perform() -> [Answer] {
    var running: Int32 = 0
    curl_multi_perform(multi, &running)
    var answers: [Answer] = []
    var left: Int32 = 0
    while let message = curl_multi_info_read(multi, &left) {
      guard message.pointee.msg == CURLMSG_DONE, let easy = message.pointee.easy_handle,
        let transfer = transfers[easy]
      else { continue }
      answers.append(answer(easy, transfer, message.pointee.data.result))
      end(easy)
    }
    return answers
  }

  private func answer(
    _ easy: UnsafeMutableRawPointer, _ transfer: WebhookTransfer, _ code: CURLcode
  ) -> Answer {
    let status = martlet_curl_status(easy)
    return Answer(
      tag: transfer.tag, status: status >= 200 ? status : nil, retryAfter: transfer.retryAfter,
      problem: status >= 200 ? "" : transfer.problem(code))
  }

  /// Ends all requests; none of them is answered. Their connections are closed.
  public func cancelAll() {
    for easy in Array(transfers.keys) { end(easy) }
  }

  private func end(_ easy: UnsafeMutableRawPointer) {
    curl_multi_remove_handle(multi, easy)
    // It must not write where the transfer was.
    curl_easy_reset(easy)
    transfers[easy] = nil
    idle.append(easy)
  }
}

/// A request under way: what libcurl reads while it is, and what it writes.
private final class WebhookTransfer: CurlTransfer {
  let tag: UInt64
  let headers: UnsafeMutablePointer<curl_slist>?
  let body: UnsafeMutableRawBufferPointer
  private(set) var retryAfter: String?
  private var received = 0

  init(tag: UInt64, headers: [String], body: [UInt8]) {
    self.tag = tag
    var list: UnsafeMutablePointer<curl_slist>?
    // Waiting for "100 Continue" costs a second against servers that do not send it.
    for header in headers + ["Expect:"] { list = curl_slist_append(list, header) }
    self.headers = list
    self.body = .allocate(byteCount: body.count, alignment: 1)
    super.init()
    self.body.copyBytes(from: body)
  }

  deinit {
    curl_slist_free_all(headers)
    body.deallocate()
  }

  override func receive(body arrived: UnsafeRawBufferPointer) -> Bool {
    received += arrived.count
    return received <= WebhookPoster.bodyLimit
  }

  override func receive(header line: UnsafeRawBufferPointer) {
    guard line.count <= 256 else { return }
    let text = String(decoding: line, as: UTF8.self)
    // A status line begins the head of a further answer.
    if text.hasPrefix("HTTP/") { retryAfter = nil }
    if let field = Self.field(text), field.name == "retry-after" { retryAfter = field.value }
  }
}
