// SPDX-License-Identifier: Apache-2.0
internal import Contract
internal import EventLoop
internal import Glibc

/// Caches the beginning of an envelope line, up to the priority: most requests have that of the previous one.
struct RepeatedBeginning: ~Copyable {
  /// The cached beginning; empty if the next request's must be written.
  private var bytes = ByteBuffer(capacity: 1_024)
  // The inputs; the texts among them are ranges of `bytes`.
  private var lane = 0..<0
  private var app = 0..<0
  private var type = 0..<0
  private var environment = Environment.production
  private var priority: UInt8 = 0

  /// Appends the beginning of the request's line.
  mutating func append(_ request: borrowing PushRequest, to buffer: inout ByteBuffer) {
    if !isOf(request) { write(request) }
    buffer.append(bytes.bytes)
    // Its topic depends on neither the app nor a fixed type.
    if case .custom = request.type { return bytes.removeAll() }
    if !request.topic.isEmpty { bytes.removeAll() }
  }

  private func isOf(_ request: borrowing PushRequest) -> Bool {
    guard !bytes.isEmpty, request.topic.isEmpty, request.priority == priority,
      request.environment == environment, has(request.app, at: app),
      has(request.laneName, at: lane), has(request.typeName, at: type)
    else { return false }
    return true
  }

  private func has(_ text: UnsafeRawBufferPointer, at place: Range<Int>) -> Bool {
    guard let start = text.baseAddress, let kept = bytes.bytes.baseAddress else { return false }
    return text.count == place.count && memcmp(start, kept + place.lowerBound, text.count) == 0
  }

  private mutating func write(_ request: borrowing PushRequest) {
    let tab = UInt8(ascii: "\t")
    bytes.removeAll()
    bytes.append("M2\t")
    lane = add(request.laneName)
    bytes.append(request.environment.name)
    bytes.append(tab)
    app = add(request.app)
    if request.topic.isEmpty {
      bytes.append(request.app)
      bytes.append(request.topicSuffix)
    } else {
      bytes.append(request.topic)
    }
    bytes.append(tab)
    type = add(request.typeName)
    bytes.append(decimal: Int64(request.priority))
    bytes.append(tab)
    (environment, priority) = (request.environment, request.priority)
  }

  /// Returns the range of the appended text.
  private mutating func add(_ text: UnsafeRawBufferPointer) -> Range<Int> {
    let start = bytes.count
    bytes.append(text)
    bytes.append(UInt8(ascii: "\t"))
    return start..<start + text.count
  }
}
