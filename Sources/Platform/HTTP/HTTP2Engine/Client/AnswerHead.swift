// SPDX-License-Identifier: Apache-2.0
public import Waiting

/// The header fields of an answer that the sender uses.
public struct AnswerHead {
  /// 200…999; 0 while there is none.
  public fileprivate(set) var status: UInt16 = 0
  /// Bytes that the body must have; −1 without `content-length`.
  private(set) var contentLength = -1
  /// The delay that `retry-after` asks for.
  public fileprivate(set) var retryAfter = RetryAfter()
  /// Values of 36 bytes, valid if they are there.
  public fileprivate(set) var id: InlineArray<36, UInt8> = .init(repeating: 0)
  public fileprivate(set) var hasID = false
  public fileprivate(set) var requestID: InlineArray<36, UInt8> = .init(repeating: 0)
  public fileprivate(set) var hasRequestID = false
  public fileprivate(set) var uniqueID: InlineArray<36, UInt8> = .init(repeating: 0)
  public fileprivate(set) var hasUniqueID = false
  /// A `date` of 29 bytes.
  public fileprivate(set) var date: InlineArray<29, UInt8> = .init(repeating: 0)
  public fileprivate(set) var hasDate = false
  /// There is something beside a status and `apns-id`.
  public var hasMore: Bool { hasRequestID || hasUniqueID || hasDate || retryAfter.isGiven }
  /// The block breaks a rule of RFC 9113 §8.2 or §8.3.
  private(set) var isMalformed = false
  private var hasField = false

  @inline(__always)
  mutating func begin() {
    status = 0
    contentLength = -1
    retryAfter = RetryAfter()
    hasID = false
    hasRequestID = false
    hasUniqueID = false
    hasDate = false
    isMalformed = false
    hasField = false
  }

  /// The status that stands in a block as one byte.
  @inline(__always)
  mutating func note200() { status = 200 }

  /// A final answer's head is complete: some have no body whatever they say of its length (RFC 9110 §6.4.1).
  mutating func end() {
    guard status == 204 || status == 304 else { return }
    isMalformed = isMalformed || (status == 204 && contentLength > 0)
    contentLength = 0
  }

  /// RFC 9113 §8.1.1: said once, a number, and not by an interim answer.
  private mutating func readLength(_ value: Span<UInt8>) {
    guard contentLength < 0, status >= 200, let length = Self.number(value) else {
      isMalformed = true
      return
    }
    contentLength = Int(length)
  }

  /// Takes a field of an answer, or of its trailers.
  mutating func read(_ name: Span<UInt8>, _ value: Span<UInt8>, isTrailer: Bool) {
    if name.count > 0, name[0] == UInt8(ascii: ":") {
      // One :status in front of everything else, and no other pseudo-header field.
      let isStatus = name.equals(Self.statusName) && value.count == 3 && !hasField && !isTrailer
      guard isStatus, status == 0, let number = Self.number(value), number >= 100 else {
        isMalformed = true
        return
      }
      status = UInt16(number)
      return
    }
    hasField = true
    isMalformed = isMalformed || Self.isForbidden(value)
    // The one field that nearly every answer has.
    if name.equals(Self.idName), value.count == 36, !isTrailer {
      for index in 0..<36 { id[index] = value[index] }
      hasID = true
      return
    }
    isMalformed = isMalformed || Self.isForbidden(name, value)
    guard !isTrailer else { return }
    // Names are told apart by their length first.
    switch name.count {
    case 15 where value.count == 36 && name.equals(Self.requestIDName):
      for index in 0..<36 { requestID[index] = value[index] }
      hasRequestID = true
    case 14 where value.count == 36 && name.equals(Self.uniqueIDName):
      for index in 0..<36 { uniqueID[index] = value[index] }
      hasUniqueID = true
    case 14 where name.equals(Self.contentLengthName): readLength(value)
    case 11 where name.equals(Self.retryAfterName): retryAfter = RetryAfter(value)
    case 4 where value.count == 29 && name.equals(Self.dateName):
      for index in 0..<29 { date[index] = value[index] }
      hasDate = true
    default: break
    }
  }

  /// A value with a control character (RFC 9110 §5.5), or with space around it.
  @inline(__always)
  private static func isForbidden(_ value: Span<UInt8>) -> Bool {
    // Without a branch for each byte, so that the compiler looks at many at once.
    var found: UInt8 = 0
    for index in value.indices {
      let byte = value[index]
      found |= (byte < 0x20 && byte != 0x09 ? 1 : 0) | (byte == 0x7F ? 1 : 0)
    }
    guard found == 0, value.count > 0 else { return found != 0 }
    let (first, last) = (value[0], value[value.count - 1])
    return first == 0x20 || first == 0x09 || last == 0x20 || last == 0x09
  }

  /// The bytes that a name may have (RFC 9110 §5.6.2), in lower case as RFC 9113 §8.2.1 wants it.
  private static let isNameByte: [Bool] = {
    let allowed = Set("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyz".utf8)
    return (0..<256).map { allowed.contains(UInt8($0)) }
  }()

  /// Names in capitals, bytes that a name must not have, and fields of HTTP/1.1 connections.
  private static func isForbidden(_ name: Span<UInt8>, _ value: Span<UInt8>) -> Bool {
    if name.count == 0 { return true }
    for index in name.indices {
      if !isNameByte[Int(name[index])] { return true }
    }
    for connection in connectionNames where name.equals(connection) { return true }
    return name.equals(teName) && !value.equals(trailers)
  }

  /// Decimal digits only, at most nine.
  private static func number(_ digits: Span<UInt8>) -> UInt32? {
    guard digits.count > 0, digits.count <= 9 else { return nil }
    var value: UInt32 = 0
    for index in digits.indices {
      let digit = digits[index] &- 0x30
      guard digit < 10 else { return nil }
      value = value * 10 + UInt32(digit)
    }
    return value
  }

  private static let statusName = Array(":status".utf8)
  private static let idName = Array("apns-id".utf8)
  private static let requestIDName = Array("apns-request-id".utf8)
  private static let uniqueIDName = Array("apns-unique-id".utf8)
  private static let retryAfterName = Array("retry-after".utf8)
  private static let dateName = Array("date".utf8)
  private static let contentLengthName = Array("content-length".utf8)
  private static let teName = Array("te".utf8)
  private static let trailers = Array("trailers".utf8)
  private static let connectionNames = [
    "connection", "proxy-connection", "keep-alive", "transfer-encoding", "upgrade",
  ].map { Array($0.utf8) }
}

extension FieldText {
  /// Passes the field on.
  func give(to head: inout AnswerHead, isTrailer: Bool) {
    let bytes = self.bytes.span
    head.read(
      bytes.extracting(0..<nameCount),
      bytes.extracting(nameCount..<nameCount + valueCount), isTrailer: isTrailer)
  }
}
