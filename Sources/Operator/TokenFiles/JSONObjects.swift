// SPDX-License-Identifier: Apache-2.0

/// Finds the objects of a stream of JSON, whose text is not looked into any further: one after the other, in an array,
/// or in the array of `{"results":[…]}`. Memory is that of one object.
struct JSONObjects {
  /// Longer objects are refused.
  static let longest = 1 << 20
  /// The first bytes of an object that only holds others, without blanks.
  private static let wrapper = Array(#"{"results":["#.utf8)

  enum Found: Equatable {
    case object([UInt8])
    /// The object is left out.
    case tooLong
    /// Not an object where one should be; the rest of the line is left out.
    case unexpected
  }

  private var object: [UInt8] = []
  private var depth = 0
  private var isString = false
  private var isEscaped = false
  private var isTooLong = false
  private var isLost = false
  /// The number of bytes of `wrapper` that the object has begun with; nil once it is another one.
  private var matched: Int? = 0

  /// True if an object has begun that is not at its end.
  var isOpen: Bool { depth > 0 }

  /// - Parameter found: called with each object at its end.
  mutating func read(_ piece: some Sequence<UInt8>, _ found: (Found) -> Void) {
    for byte in piece { read(byte, found) }
  }

  private mutating func read(_ byte: UInt8, _ found: (Found) -> Void) {
    if depth == 0 { return between(byte, found) }
    if object.count < Self.longest { object.append(byte) } else { isTooLong = true }
    if isString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isString = false
      }
    } else {
      switch byte {
      case UInt8(ascii: "\""): isString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      default: break
      }
    }
    if isWrapper(after: byte) { return }
    guard depth == 0 else { return }
    found(isTooLong ? .tooLong : .object(object))
    begin()
  }

  /// Reads a byte between objects: brackets and commas of arrays, and what closes a wrapper.
  private mutating func between(_ byte: UInt8, _ found: (Found) -> Void) {
    switch byte {
    case UInt8(ascii: "\n"): isLost = false
    case _ where isLost: break
    case UInt8(ascii: "{"):
      begin()
      object.append(byte)
      depth = 1
      _ = isWrapper(after: byte)
    case 0x20, 0x09, 0x0D, 0xEF, 0xBB, 0xBF, UInt8(ascii: ","), UInt8(ascii: "["),
      UInt8(ascii: "]"), UInt8(ascii: "}"):
      break
    default:
      isLost = true
      found(.unexpected)
    }
  }

  /// Forgets the object when it turns out to be a wrapper: what follows are objects of their own.
  private mutating func isWrapper(after byte: UInt8) -> Bool {
    guard let count = matched, byte > 0x20 else { return false }
    guard byte == Self.wrapper[count] else {
      matched = nil
      return false
    }
    matched = count + 1
    guard count + 1 == Self.wrapper.count else { return false }
    begin()
    depth = 0
    return true
  }

  private mutating func begin() {
    object.removeAll(keepingCapacity: true)
    (isString, isEscaped, isTooLong, matched) = (false, false, false, 0)
  }
}
