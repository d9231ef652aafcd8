// SPDX-License-Identifier: Apache-2.0
import CCurl
import HTTP

/// Where libcurl writes what arrives of one answer, and what it says of a failure beside its code: which check of a
/// certificate failed, which address refused. The code alone says only that something about TLS was not right.
class CurlTransfer {
  private let detail = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

  init() { detail[0] = 0 }

  deinit { detail.deallocate() }

  /// False ends the transfer.
  func receive(body arrived: UnsafeRawBufferPointer) -> Bool { true }

  /// One line of the head.
  func receive(header line: UnsafeRawBufferPointer) {}

  /// Has a handle write here; this object must live as long as the handle's transfer.
  final func attach(to easy: UnsafeMutableRawPointer) {
    let context = Unmanaged.passUnretained(self).toOpaque()
    martlet_curl_set_error_buffer(easy, detail)
    martlet_curl_set_sink(easy, receiveBody, context)
    martlet_curl_set_header_sink(easy, receiveHeader, context)
  }

  /// Why the transfer failed.
  final func problem(_ code: CURLcode) -> String {
    let meaning = String(cString: curl_easy_strerror(code))
    let detail = String(cString: self.detail)
    return detail.isEmpty || detail == meaning ? meaning : "\(meaning): \(detail)"
  }

  /// The name, in lower case, and the value in a line of a head.
  static func field(_ line: String) -> (name: String, value: String)? {
    guard let colon = line.firstIndex(of: ":") else { return nil }
    var value = line[line.index(after: colon)...]
    while value.first?.isWhitespace == true { value = value.dropFirst() }
    while value.last?.isWhitespace == true { value = value.dropLast() }
    return (line[..<colon].lowercased(), String(value))
  }
}

/// The part of an answer that has arrived.
final class AnswerSink: CurlTransfer {
  private(set) var headers: [(name: String, value: String)] = []
  /// Empty if it is handed over in parts.
  private(set) var body: [UInt8] = []
  private(set) var isOverflown = false
  /// The last head as it came, up to a bound.
  private(set) var head: [UInt8] = []
  private let limit: Int
  private let part: ((UnsafeRawBufferPointer) -> Void)?

  /// - Parameters:
  ///   - limit: the most bytes of a body that is kept.
  ///   - part: takes the body's parts instead; a part ends anywhere.
  init(limit: Int, part: ((UnsafeRawBufferPointer) -> Void)? = nil) {
    self.limit = limit
    self.part = part
  }

  override func receive(body arrived: UnsafeRawBufferPointer) -> Bool {
    if let part {
      part(arrived)
      return true
    }
    isOverflown = body.count + arrived.count > limit
    if !isOverflown { body.append(contentsOf: arrived) }
    return !isOverflown
  }

  override func receive(header line: UnsafeRawBufferPointer) {
    let text = String(decoding: line, as: UTF8.self)
    // A status line begins the head of a further answer.
    if text.hasPrefix("HTTP/") {
      headers = []
      head = []
    }
    if head.count < ProxyAnswer.limit { head += line }
    if let field = Self.field(text) { headers.append(field) }
  }
}

/// Trusts the authorities of a PEM file and no other. libcurl would go on to trust the system's folder beside a file,
/// which Debian's has by default.
///
/// - Parameter roots: nil for the system's authorities.
func trustOnly(_ roots: String?, on easy: UnsafeMutableRawPointer) {
  guard let roots else { return }
  martlet_curl_set_text(easy, CURLOPT_CAINFO, roots)
  martlet_curl_set_text(easy, CURLOPT_CAPATH, nil)
}

private func receiveBody(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let bytes, let context else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  let arrived = UnsafeRawBufferPointer(start: bytes, count: size * count)
  return transfer.receive(body: arrived) ? size * count : 0
}

private func receiveHeader(
  _ bytes: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int,
  _ context: UnsafeMutableRawPointer?
) -> Int {
  guard let bytes, let context else { return 0 }
  let transfer = Unmanaged<CurlTransfer>.fromOpaque(context).takeUnretainedValue()
  transfer.receive(header: UnsafeRawBufferPointer(start: bytes, count: size * count))
  return size * count
}
