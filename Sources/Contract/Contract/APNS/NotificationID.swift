// SPDX-License-Identifier: Apache-2.0

/// A notification's `apns-id`: a UUID (RFC 9562) as a value rather than text.
///
/// It stays the same over replays and attempts, so that duplicates are recognizable.
public struct NotificationID: Hashable, Sendable, CustomStringConvertible {
  /// The first eight bytes in network order.
  public let high: UInt64
  /// The last eight bytes in network order.
  public let low: UInt64

  /// The length of the canonical form: 32 digits in groups of 8-4-4-4-12.
  public static let textLength = 36

  /// The namespace of the ids that Martlet derives. It must never change, or replays get new ids.
  public static let namespace = NotificationID(
    high: 0x6D61_7274_6C65_5470, low: 0xB573_6800_0000_0001)

  public init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  /// The UUIDv5 (RFC 9562 §5.5) of a SHA-1 digest over namespace and name: its first 16 bytes with
  /// version 5 and the RFC's variant set. `digest` holds at least 16 bytes.
  public init(version5Digest digest: Span<UInt8>) {
    precondition(digest.count >= 16, "a SHA-1 digest has 20 bytes")
    var high: UInt64 = 0
    var low: UInt64 = 0
    for index in 0..<8 {
      high = high << 8 | UInt64(digest[index])
      low = low << 8 | UInt64(digest[index + 8])
    }
    self.high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x5000
    self.low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
  }

  /// The UUIDv4 (RFC 9562 §5.4) of 128 random bits, six of which are replaced by version and variant.
  public init(version4 high: UInt64, _ low: UInt64) {
    self.high = high & 0xFFFF_FFFF_FFFF_0FFF | 0x4000
    self.low = low & 0x3FFF_FFFF_FFFF_FFFF | 0x8000_0000_0000_0000
  }

  /// The id in canonical form at `offset` of `text`, in either case, or `nil`.
  ///
  /// Only the 36 characters from `offset` on are read.
  public init?(_ text: Span<UInt8>, at offset: Int = 0) {
    guard offset >= 0, text.count - offset >= Self.textLength else { return nil }
    let id = text.extracting(offset..<offset + Self.textLength)
    var invalid: UInt64 = 0
    let a = HexWord.value(Self.four(id, 0) << 32 | Self.four(id, 4), &invalid)
    let b = HexWord.value(Self.four(id, 9) << 32 | Self.four(id, 14), &invalid)
    let c = HexWord.value(Self.four(id, 19) << 32 | Self.four(id, 24), &invalid)
    let d = HexWord.value(Self.four(id, 28) << 32 | Self.four(id, 32), &invalid)
    let dash = UInt8(ascii: "-")
    guard invalid == 0, id[8] == dash, id[13] == dash, id[18] == dash, id[23] == dash else {
      return nil
    }
    high = a << 32 | b
    low = c << 32 | d
  }

  /// The id with this text in canonical form, in either case, or `nil`.
  public init?(_ text: String) {
    guard text.utf8.count == Self.textLength else { return nil }
    self.init(text.utf8.span)
  }

  /// Four bytes, most significant first.
  @inline(__always)
  private static func four(_ text: Span<UInt8>, _ start: Int) -> UInt64 {
    UInt64(text[start]) << 24 | UInt64(text[start + 1]) << 16 | UInt64(text[start + 2]) << 8
      | UInt64(text[start + 3])
  }

  /// The canonical form, lower case.
  public var characters: InlineArray<36, UInt8> {
    InlineArray<36, UInt8> { (position: Int) -> UInt8 in
      switch position {
      case 8, 13, 18, 23: return UInt8(ascii: "-")
      default:
        // Position 9 and up follow one dash, 14 and up two, 19 and up three, 24 and up four.
        let digit = position - min(max((position - 4) / 5, 0), 4)
        let half = digit < 16 ? high : low
        return HexDigit.character(UInt8(truncatingIfNeeded: half >> UInt64(60 - digit % 16 * 4)))
      }
    }
  }

  public var description: String { characters.span.text }
}
