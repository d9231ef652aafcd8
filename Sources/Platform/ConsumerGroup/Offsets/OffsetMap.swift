// SPDX-License-Identifier: Apache-2.0

/// The offsets completed above a committed offset, as the commit's metadata text.
///
/// ```
/// holes2:<runs>:<checksum>
/// ```
/// The runs are lengths, alternately of open and of completed offsets, from the committed offset on. A length is
/// written in digits of five bits, lowest first, in the alphabet of base64url; the value 32 in a digit means that
/// another follows. The first length is written as it is (it may be zero), every other one minus one. The checksum is
/// the CRC-32C of the text before it, the committed offset and the partition, in eight hexadecimal digits, so that a
/// map is valid only with the offset and partition that it was made for.
///
/// Kafka limits the metadata of a commit to 4,096 UTF-16 units (`offset.metadata.max.bytes`) and librdkafka 2.0.2 reads
/// it up to the first NUL: plain ASCII is safe in both. A map that does not fit is truncated at its far end: the rest
/// remains valid, and the records beyond are processed again.
public enum OffsetMap {
  /// The maximum metadata length that a broker stores with an offset by default.
  public static let charactersAtMost = 4_096
  /// The maximum span of a map above the committed offset: a reader allocates one bit for each offset.
  public static let spanAtMost: Int64 = 1 << 23

  static let prefix: [UInt8] = Array("holes2:".utf8)
  private static let checksumCount = 8
  private static let alphabet = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

  /// Why a text is not a valid map. The committed offset alone is always a safe start.
  public enum Problem: Error, Sendable, Equatable {
    /// Not written by this program, or by a future version.
    case foreign
    case tooLong
    /// The checksum is wrong: the text was truncated, changed, or made for another offset or partition.
    case corrupt
    /// Well-formed but impossible.
    case absurd
    /// It contains offsets that the log does not have: it was made for another log, or this one was truncated.
    case beyondLog
  }

  /// The map as text.
  ///
  /// - Parameters:
  ///   - partition: the topic and partition number.
  ///   - base: the committed offset.
  ///   - runs: completed ranges at or above it, ascending and separate.
  /// - Returns: nil if there are no runs, or no room for any.
  public static func encode(
    of partition: some CustomStringConvertible, base: Int64, _ runs: [Range<Int64>],
    charactersAtMost: Int = charactersAtMost
  ) -> String? {
    var text = prefix
    let room = charactersAtMost - 1 - checksumCount
    var position = base
    for run in runs {
      guard run.upperBound > run.lowerBound, run.upperBound - base <= spanAtMost else { break }
      // Only the first run may be adjacent to what lies below it.
      let hole = run.lowerBound - position - (position == base ? 0 : 1)
      guard hole >= 0 else { break }
      let before = text.count
      append(hole, to: &text)
      append(run.upperBound - run.lowerBound - 1, to: &text)
      if text.count > room {
        text.removeLast(text.count - before)
        break
      }
      position = run.upperBound
    }
    guard text.count > prefix.count else { return nil }
    let sum = checksum(text, "\(partition)", base)
    text.append(UInt8(ascii: ":"))
    text.append(contentsOf: hexadecimal(sum))
    return String(decoding: text, as: UTF8.self)
  }

  /// The completed ranges of a text, ascending.
  ///
  /// - Parameters:
  ///   - partition: the partition for which the text was committed.
  ///   - base: the offset that was committed with the text.
  public static func decode(
    _ text: [UInt8], of partition: some CustomStringConvertible, base: Int64, logEnd: Int64? = nil
  ) throws(Problem) -> [Range<Int64>] {
    guard text.count <= charactersAtMost else { throw .tooLong }
    guard text.starts(with: prefix) else { throw .foreign }
    let end = text.count - 1 - checksumCount
    guard end > prefix.count, text[end] == UInt8(ascii: ":"),
      hexadecimal(checksum(Array(text[..<end]), "\(partition)", base))
        .elementsEqual(text[(end + 1)...])
    else { throw .corrupt }
    var runs: [Range<Int64>] = []
    var position = base
    var at = prefix.count
    while at < end {
      let hole = try length(text, &at, end) + (position == base ? 0 : 1)
      let done = try length(text, &at, end) + 1
      let (lower, overflows) = position.addingReportingOverflow(hole)
      guard !overflows, lower <= .max - done, lower + done - base <= spanAtMost else {
        throw .absurd
      }
      runs.append(lower..<lower + done)
      position = lower + done
    }
    if let logEnd, position > logEnd { throw .beyondLog }
    return runs
  }

  // MARK: - Digits

  private static func append(_ length: Int64, to text: inout [UInt8]) {
    var rest = length
    repeat {
      let digit = Int(rest & 31)
      rest >>= 5
      text.append(alphabet[rest > 0 ? digit | 32 : digit])
    } while rest > 0
  }

  private static func length(
    _ text: [UInt8], _ at: inout Int, _ end: Int
  ) throws(Problem) -> Int64 {
    var value: Int64 = 0
    // Five digits hold up to 2²⁵ − 1, more than a map may span.
    for place in 0..<5 as Range<Int64> {
      guard at < end, let digit = digit(text[at]) else { throw .absurd }
      at += 1
      value |= Int64(digit & 31) << (place * 5)
      if digit & 32 == 0 { return value }
    }
    throw .absurd
  }

  private static func digit(_ character: UInt8) -> UInt8? {
    switch character {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): character - UInt8(ascii: "A")
    case UInt8(ascii: "a")...UInt8(ascii: "z"): character - UInt8(ascii: "a") + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): character - UInt8(ascii: "0") + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }

  // MARK: - Checksum

  private static func checksum(_ text: [UInt8], _ partition: String, _ base: Int64) -> UInt32 {
    var sum = CRC32C()
    sum.add(text)
    sum.add(Array("@\(base) \(partition)".utf8))
    return sum.value
  }

  private static func hexadecimal(_ value: UInt32) -> [UInt8] {
    (0..<checksumCount).map { place in
      let digit = UInt8(value >> UInt32(28 - 4 * place) & 15)
      return digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
    }
  }
}

/// The checksum CRC-32C (Castagnoli; RFC 3720, appendix B.4), computed byte by byte.
struct CRC32C {
  private static let table: [UInt32] = (0..<256).map { byte in
    (0..<8).reduce(UInt32(byte)) { sum, _ in sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
  }

  private var state: UInt32 = .max

  var value: UInt32 { ~state }

  mutating func add(_ bytes: [UInt8]) {
    for byte in bytes { state = Self.table[Int((state ^ UInt32(byte)) & 255)] ^ state >> 8 }
  }
}
