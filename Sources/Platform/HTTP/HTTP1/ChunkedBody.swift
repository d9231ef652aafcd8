// SPDX-License-Identifier: Apache-2.0

/// Takes a chunked body apart while it arrives (RFC 9112 §7.1), by the letter: hex digits, CRLF, and bounds for what no
/// client of ours needs, extensions and trailers.
public struct ChunkedBody: Sendable {
  /// The most bytes of a chunk's line, and of all trailers.
  static let longestLine = 256
  static let longestTrailer = 4_096

  private enum State: Sendable {
    case size
    case data
    case dataEnd
    case trailer
  }

  private var state = State.size
  private var left = 0
  private var trailer = 0

  public init() {}

  /// The next thing at the front of the bytes.
  public enum Step: Equatable, Sendable {
    /// More must arrive.
    case wait
    /// So many bytes are not content.
    case skip(Int)
    /// So many bytes are content. Once they were taken, `took` is called with how many.
    case data(Int)
    /// So many bytes end the body.
    case end(Int)
  }

  /// - Parameter bytes: what has arrived and was neither skipped nor taken.
  public mutating func next(_ bytes: Span<UInt8>) throws(RequestProblem) -> Step {
    switch state {
    case .size: return try size(bytes)
    case .data: return bytes.count == 0 ? .wait : .data(min(left, bytes.count))
    case .dataEnd:
      guard bytes.count >= 2 else { return .wait }
      guard bytes[0] == 0x0D, bytes[1] == 0x0A else {
        throw .malformed("a chunk is longer than its size says")
      }
      state = .size
      return .skip(2)
    case .trailer: return try trailers(bytes)
    }
  }

  /// So many bytes of content were taken.
  public mutating func took(_ count: Int) {
    left -= count
    if left == 0 { state = .dataEnd }
  }

  private mutating func size(_ bytes: Span<UInt8>) throws(RequestProblem) -> Step {
    guard let line = try Self.line(bytes, longest: Self.longestLine) else { return .wait }
    var (value, digits) = (0, 0)
    while digits < line, let digit = HTTPToken.hexDigit(bytes[digits]) {
      guard value >> 56 == 0 else { throw RequestProblem(413, "a chunk is too large") }
      value = value << 4 | Int(digit)
      digits += 1
    }
    guard digits > 0, digits == line || bytes[digits] == UInt8(ascii: ";") else {
      throw .malformed("the size of a chunk is not a hexadecimal number")
    }
    left = value
    state = value == 0 ? .trailer : .data
    return .skip(line + 2)
  }

  /// They are read as fields and dropped.
  private mutating func trailers(_ bytes: Span<UInt8>) throws(RequestProblem) -> Step {
    guard let line = try Self.line(bytes, longest: Self.longestTrailer) else { return .wait }
    if line == 0 { return .end(2) }
    _ = try RequestHead.field(bytes.extracting(0..<line))
    trailer += line + 2
    guard trailer <= Self.longestTrailer else { throw RequestProblem(431, "too many trailers") }
    return .skip(line + 2)
  }

  /// The bytes before the first CRLF; nil when it has not arrived.
  private static func line(_ bytes: Span<UInt8>, longest: Int) throws(RequestProblem) -> Int? {
    for index in 0..<bytes.count {
      guard index <= longest else { throw .malformed("a line of the chunked body is too long") }
      switch bytes[index] {
      case 0x0D:
        guard index + 1 < bytes.count else { return nil }
        guard bytes[index + 1] == 0x0A else { throw .malformed("a CR without an LF behind it") }
        return index
      case 0x09, 0x20...0x7E, 0x80...0xFF: continue
      default: throw .malformed("a control character between the chunks")
      }
    }
    return nil
  }
}
