// SPDX-License-Identifier: Apache-2.0

/// Finds the end of a request's head while it arrives, and refuses bytes that no head may have: each byte is looked at once.
///
/// Lines end in CRLF. A bare LF, a bare CR and NUL are where servers behind one another disagree about the end of a
/// request (RFC 9112 §2.2 and §11.2), so there is no leniency.
public struct HeadScanner: Sendable {
  /// The most bytes of a head.
  public static let longest = 32 << 10

  private var scanned = 0
  /// Bytes of the line that is being looked at.
  private var line = 0
  /// Empty lines before the request line, which RFC 9112 §2.2 lets a client send.
  private var leading = 0
  private var endsInCR = false

  public init() {}

  /// The start of the head's first line, and the length of the head with the empty line at its end; nil while it is not
  /// complete.
  ///
  /// - Parameter bytes: what has arrived, from the head's first byte on.
  public mutating func find(in bytes: Span<UInt8>) throws(RequestProblem) -> Range<Int>? {
    while scanned < bytes.count {
      guard scanned < Self.longest else {
        throw RequestProblem(431, "the head has more than \(Self.longest) bytes")
      }
      let byte = bytes[scanned]
      scanned += 1
      if endsInCR {
        guard byte == 0x0A else { throw .malformed("a CR without an LF behind it") }
        endsInCR = false
        if line > 0 {
          line = 0
        } else if scanned == leading + 2 {
          leading = scanned
        } else {
          return leading..<scanned
        }
        continue
      }
      switch byte {
      case 0x0D: endsInCR = true
      case 0x0A: throw .malformed("a line that ends in LF without CR")
      case 0x09, 0x20...0x7E, 0x80...0xFF: line += 1
      default: throw .malformed("a control character in the head")
      }
    }
    return nil
  }
}
