// SPDX-License-Identifier: Apache-2.0
import Waiting

/// The fate of a request once it is over (RFC 9113 §8.7 and the gateway's habits).
public enum ExchangeFate: UInt8, Sendable {
  /// Not over yet.
  case pending
  /// A final status arrived: act by it, even if the body was lost.
  case answered
  /// The peer has certainly not processed it: never written, refused, or above a GOAWAY's last
  /// stream. May be sent again freely, on another connection.
  case unprocessed
  /// Unknown: the stream or the connection broke after the request was written, or the
  /// deadline passed. Sending it again may deliver it twice.
  case ambiguous
}

/// One request and its answer: plain memory of the owner, one per request in flight. The session
/// writes the answer here without a look-up or an allocation.
///
/// From `submit` until it appears among the completed ones the exchange, the header values and the
/// body must stay where they are.
public struct Exchange: ListMember {
  /// Free for the owner, e.g. its slot number.
  public var owner: UInt32 = 0
  /// The request body; nil or empty for none.
  public var body: UnsafePointer<UInt8>?
  public var bodyCount: UInt32 = 0
  /// The bytes of the body that have been handed to the stream.
  public internal(set) var bodySent: UInt32 = 0

  /// The stream it went out on; 0 before `submit`.
  public internal(set) var streamID: Int32 = 0
  /// The final status, 0 while there is none.
  public internal(set) var status: UInt16 = 0
  /// The peer has ended its side: the answer is complete.
  public internal(set) var ended = false
  /// It was given up before anything of it was written.
  var isUnwritten = false
  /// The HTTP/2 error code the stream closed with (0 = no error).
  public internal(set) var closeCode: UInt32 = 0
  public internal(set) var fate: ExchangeFate = .pending

  /// The `apns-unique-id` of the answer; valid if `hasUniqueID`.
  public internal(set) var uniqueID = InlineArray<36, UInt8>(repeating: 0)
  public internal(set) var hasUniqueID = false
  /// The id that the request carried, 36 bytes, or nil: an `apns-id` or `apns-request-id` of the answer that is
  /// the same is not kept.
  public var sentID: UnsafePointer<UInt8>?
  /// The `apns-id` of the answer if it is another than was sent; valid if `hasOtherID`.
  public internal(set) var otherID = InlineArray<36, UInt8>(repeating: 0)
  public internal(set) var hasOtherID = false
  /// The same of `apns-request-id`; valid if `hasOtherRequestID`.
  public internal(set) var otherRequestID = InlineArray<36, UInt8>(repeating: 0)
  public internal(set) var hasOtherRequestID = false
  /// The answer had an `apns-id` or `apns-request-id` of 36 bytes, and one of them is the one that was sent.
  public internal(set) var hasID = false
  public internal(set) var hasSentID = false
  /// The delay that a `retry-after` header asks for.
  var retryAfter = RetryAfter()

  /// The place for the 29 bytes of a `date` header; nil if it is not wanted.
  public var date: UnsafeMutablePointer<UInt8>?
  /// The answer had a `date` of that length, and it was wanted.
  public internal(set) var hasDate = false

  /// The place for the answer's body; what does not fit is counted and dropped.
  public var response: UnsafeMutablePointer<UInt8>?
  public var responseCapacity: UInt16 = 0
  /// Bytes kept.
  public internal(set) var responseCount: UInt16 = 0
  /// Bytes received.
  public internal(set) var responseTotal: UInt32 = 0

  // The session's list of open exchanges.
  public var next: UnsafeMutablePointer<Exchange>?
  public var previous: UnsafeMutablePointer<Exchange>?

  public init(owner: UInt32 = 0) { self.owner = owner }

  /// The seconds that a `retry-after` header asks to wait, from now on; 0 without one.
  ///
  /// - Parameter now: seconds since the epoch.
  public func retryAfter(now: Int64) -> UInt32 { retryAfter.wait(now: now) }

  /// The answer has an id.
  ///
  /// - Parameter isSent: it is the one that was sent.
  /// - Returns: the same.
  mutating func noteID(isSent: Bool) -> Bool {
    hasID = true
    hasSentID = hasSentID || isSent
    return isSent
  }

  /// The bytes of the answer's body that were kept.
  public var responseBytes: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: response, count: Int(responseCount))
  }

  /// Forgets an earlier answer; the owner's fields stay. `submit` does it by itself.
  mutating func prepare() {
    bodySent = 0
    streamID = 0
    status = 0
    ended = false
    isUnwritten = false
    closeCode = 0
    fate = .pending
    hasUniqueID = false
    hasOtherID = false
    hasOtherRequestID = false
    hasID = false
    hasSentID = false
    retryAfter = RetryAfter()
    hasDate = false
    responseCount = 0
    responseTotal = 0
  }
}
