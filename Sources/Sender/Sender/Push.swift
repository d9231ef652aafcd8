// SPDX-License-Identifier: Apache-2.0
import Contract
import HTTP2
import Records

extension Exchange {
  /// Whose id the answer has. A request without one is given one by APNs.
  var answerID: AnswerID {
    guard hasID else { return .none }
    return hasSentID || sentID == nil ? .sent : .other
  }
}

/// The bytes of one notification in the sender, from being taken out of Kafka to its outcome; what is decided about it
/// is the `Dispatcher`'s.
///
/// `block` holds its bytes in the order in which they are needed:
/// ```
/// | "/3/device/" | token | envelope line \n body | response kept |
/// | "/4/broadcasts/apps/" app | channel | envelope line \n body | response kept |
/// ```
/// so that the path is one slice, every header value is a slice of the envelope, and the body follows as it
/// was on the topic.
struct Push {
  /// First, so that a pointer to the exchange is a pointer to the push.
  var exchange = Exchange()
  var block: UnsafeMutablePointer<UInt8>
  var blockSize: Int32 = 0
  /// Where the record's key begins: a device token ends the path, a channel id follows it.
  var tokenStart: UInt16 = 0
  var tokenCount: UInt16 = 0
  var valueCount: UInt16 = 0
  var envelope = Envelope()

  static let pathPrefix: StaticString = "/3/device/"
  static let pathPrefixCount = 10
  static let broadcastPrefix: StaticString = "/4/broadcasts/apps/"
  static let broadcastPrefixCount = 19
  /// Bytes of an error body that are kept: APNs' are below 100.
  static let responseCapacity = 256

  init() { block = UnsafeMutablePointer(bitPattern: 8)! }

  /// Begins a push in this slot: copies a record's bytes into `block`.
  mutating func fill(
    _ block: UnsafeMutablePointer<UInt8>, _ size: Int, _ key: UnsafeRawBufferPointer,
    _ value: UnsafeRawBufferPointer, _ envelope: Envelope
  ) {
    self.block = block
    blockSize = Int32(size)
    tokenCount = UInt16(key.count)
    valueCount = UInt16(value.count)
    self.envelope = envelope
    let start = UnsafeMutableRawPointer(block)
    switch envelope.target {
    case .device:
      start.copyMemory(from: Self.pathPrefix.utf8Start, byteCount: Self.pathPrefixCount)
      tokenStart = UInt16(Self.pathPrefixCount)
    case .channel:
      start.copyMemory(from: Self.broadcastPrefix.utf8Start, byteCount: Self.broadcastPrefixCount)
      let app = UnsafeRawBufferPointer(rebasing: value[envelope.app.indices])
      (start + Self.broadcastPrefixCount).copyMemory(
        from: app.baseAddress!, byteCount: app.count)
      tokenStart = UInt16(Self.broadcastPrefixCount + app.count)
    }
    let token = block + Int(tokenStart)
    UnsafeMutableRawPointer(token).copyMemory(from: key.baseAddress!, byteCount: key.count)
    let record = token + key.count
    UnsafeMutableRawPointer(record).copyMemory(from: value.baseAddress!, byteCount: value.count)
    exchange.body = UnsafePointer(record + envelope.bodyStart)
    exchange.bodyCount = UInt32(value.count - envelope.bodyStart)
    exchange.sentID = UnsafePointer(record + envelope.idText.indices.lowerBound)
    exchange.response = record + value.count
    exchange.responseCapacity = UInt16(Self.responseCapacity)
  }

  /// `/3/device/<token>`, or `/4/broadcasts/apps/<app>`.
  var path: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: block, count: Int(tokenStart) + (envelope.target.isDevice ? Int(tokenCount) : 0))
  }
  /// The device token, or the channel id of a broadcast: the record's key.
  var token: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: block + Int(tokenStart), count: Int(tokenCount))
  }
  /// The record's value: envelope line, newline, body.
  var value: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: block + Int(tokenStart) + Int(tokenCount), count: Int(valueCount))
  }
  var body: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: value[envelope.bodyStart...])
  }
  /// Bytes of `block` that come before the body.
  var headCount: Int { Int(tokenStart) + Int(tokenCount) + Int(envelope.bodyStart) }
  /// The bytes of one field of the envelope.
  func field(_ range: ByteRange) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(rebasing: value[range.indices])
  }
  /// The keyed fields of the envelope.
  var carried: CarriedFields { envelope.carried(in: value) }
  /// The app's bundle id.
  var appName: String { String(decoding: field(envelope.app), as: UTF8.self) }
  /// Calls `body` with the answer's `apns-unique-id`, and with its `apns-id` and `apns-request-id` where they
  /// are others than the push's; each is empty without one.
  func withAnswerIDs(
    _ body: (
      _ unique: UnsafeRawBufferPointer, _ id: UnsafeRawBufferPointer,
      _ request: UnsafeRawBufferPointer
    ) -> Void
  ) {
    let none = UnsafeRawBufferPointer(start: nil, count: 0)
    // Nearly every answer of the production gateway.
    guard exchange.hasUniqueID || exchange.hasOtherID || exchange.hasOtherRequestID else {
      return body(none, none, none)
    }
    withUnsafeBytes(of: exchange.uniqueID) { unique in
      withUnsafeBytes(of: exchange.otherID) { id in
        withUnsafeBytes(of: exchange.otherRequestID) { request in
          body(
            exchange.hasUniqueID ? unique : none, exchange.hasOtherID ? id : none,
            exchange.hasOtherRequestID ? request : none)
        }
      }
    }
  }
  /// Bytes that a block needs for a record.
  static func blockBytes(token: Int, value: Int, _ envelope: Envelope = Envelope()) -> Int {
    let path =
      envelope.target.isDevice
      ? pathPrefixCount : broadcastPrefixCount + Int(envelope.app.count)
    return path + token + value + responseCapacity
  }
}
