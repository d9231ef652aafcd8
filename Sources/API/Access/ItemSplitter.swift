// SPDX-License-Identifier: Apache-2.0

/// Finds the requests in a body while it arrives: lines of NDJSON, the elements of a JSON array, or one object.
///
/// It only looks at structure, strings and brackets; the parser decides whether an item is JSON. The owner keeps the
/// bytes that do not belong to a finished item yet, and removes those that `next` has passed.
public struct ItemSplitter: Sendable, Equatable {
  public enum Form: Sendable, Equatable {
    /// One item per line (NDJSON); empty lines do not count.
    case lines
    /// A JSON array of items, or one object.
    case document
  }

  public enum Problem: Error, Equatable, Sendable, CustomStringConvertible {
    /// Neither an object nor an array.
    case notADocument
    /// A byte order mark before the document.
    case byteOrderMark
    /// Something other than a comma or the end between elements.
    case expectedComma
    /// A comma without an element before or after it.
    case expectedElement
    /// Bytes after the document.
    case afterTheEnd
    case unfinished
    /// No byte but blanks.
    case empty

    public var description: String {
      switch self {
      case .notADocument:
        "the body is neither a JSON object nor an array; send lines as application/x-ndjson"
      case .byteOrderMark: "the body begins with a byte order mark; send it without one"
      case .expectedComma: "the array has no comma between two elements"
      case .expectedElement: "the array has a comma without an element"
      case .afterTheEnd:
        "the body goes on after its JSON document; send lines as application/x-ndjson"
      case .unfinished: "the body ends in the middle of its JSON document"
      case .empty: "the body is empty"
      }
    }
  }

  private enum State: Sendable, Equatable {
    case start
    case single
    /// In an array, before an element; one must follow after a comma.
    case beforeElement(afterComma: Bool)
    case element
    case afterElement
    case end
  }

  public let form: Form
  private var state = State.start
  private var depth = 0
  private var isInString = false
  private var isEscaped = false
  private var scanned = 0
  private var itemStart = 0

  public init(_ form: Form) { self.form = form }

  public private(set) var emptyLines = 0

  /// True if the body is a JSON array: the answer is then an array, too.
  public private(set) var isArray = false

  /// The next item in the available bytes; nil if it is not complete yet. `passed` bytes may then be removed.
  ///
  /// - Parameter bytes: bytes received and not removed.
  public mutating func next(in bytes: Span<UInt8>, isEnd: Bool) throws(Problem) -> Range<Int>? {
    switch form {
    case .lines: nextLine(bytes, isEnd)
    case .document: try nextElement(bytes, isEnd)
    }
  }

  /// The bytes at the front that do not belong to an unfinished item.
  public var passed: Int { itemStart }

  /// The owner has removed the passed bytes.
  public mutating func removedPassed() {
    scanned -= itemStart
    itemStart = 0
  }

  // MARK: Lines

  private mutating func nextLine(_ bytes: Span<UInt8>, _ isEnd: Bool) -> Range<Int>? {
    while true {
      while scanned < bytes.count, bytes[scanned] != 0x0A { scanned += 1 }
      guard scanned < bytes.count || (isEnd && itemStart < scanned) else { return nil }
      var end = scanned
      let start = itemStart
      scanned = min(scanned + 1, bytes.count)
      itemStart = scanned
      if end > start, bytes[end - 1] == 0x0D { end -= 1 }
      if end > start { return start..<end }
      emptyLines += 1
      if scanned >= bytes.count, isEnd { return nil }
    }
  }

  // MARK: Documents

  private mutating func nextElement(
    _ bytes: Span<UInt8>, _ isEnd: Bool
  ) throws(Problem) -> Range<Int>? {
    while scanned < bytes.count {
      let byte = bytes[scanned]
      switch state {
      case .element, .single:
        if let found = inItem(bytes, byte) { return found }
      case _ where Self.isBlank(byte):
        scanned += 1
        itemStart = scanned
      default:
        if state == .start, Self.isByteOrderMark(bytes, scanned) { throw .byteOrderMark }
        try between(byte)
      }
    }
    if isEnd, state == .start { throw .empty }
    if isEnd, state != .end { throw .unfinished }
    return nil
  }

  /// Scans a byte of an item; returns the item if it has ended.
  private mutating func inItem(_ bytes: Span<UInt8>, _ byte: UInt8) -> Range<Int>? {
    if isInString {
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "\\") {
        isEscaped = true
      } else if byte == UInt8(ascii: "\"") {
        isInString = false
      }
      scanned += 1
      return nil
    }
    switch byte {
    case UInt8(ascii: "\""): isInString = true
    case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
    case UInt8(ascii: "}"), UInt8(ascii: "]"):
      // The end of the array after an element that is not an object.
      if depth == 0 { return finish(bytes, at: scanned) }
      depth -= 1
      if depth == 0 {
        scanned += 1
        return finish(bytes, at: scanned)
      }
    case UInt8(ascii: ",") where depth == 0: return finish(bytes, at: scanned)
    default: break
    }
    scanned += 1
    return nil
  }

  /// Ends an item, without blanks after a number or a word.
  private mutating func finish(_ bytes: Span<UInt8>, at end: Int) -> Range<Int> {
    var last = end
    while last > itemStart, Self.isBlank(bytes[last - 1]) { last -= 1 }
    let found = itemStart..<last
    itemStart = end
    state = state == .single ? .end : .afterElement
    return found
  }

  private mutating func between(_ byte: UInt8) throws(Problem) {
    switch (state, byte) {
    case (.start, UInt8(ascii: "{")): state = .single
    case (.start, UInt8(ascii: "[")):
      isArray = true
      state = .beforeElement(afterComma: false)
      pass()
    case (.start, _): throw .notADocument
    case (.beforeElement(false), UInt8(ascii: "]")), (.afterElement, UInt8(ascii: "]")):
      state = .end
      pass()
    case (.beforeElement, UInt8(ascii: "]")), (.beforeElement, UInt8(ascii: ",")):
      throw .expectedElement
    case (.beforeElement, _):
      state = .element
      itemStart = scanned
    case (.afterElement, UInt8(ascii: ",")):
      state = .beforeElement(afterComma: true)
      pass()
    case (.afterElement, _): throw .expectedComma
    default: throw .afterTheEnd
    }
  }

  private mutating func pass() {
    scanned += 1
    itemStart = scanned
  }

  private static func isByteOrderMark(_ bytes: Span<UInt8>, _ place: Int) -> Bool {
    place + 2 < bytes.count && bytes[place] == 0xEF && bytes[place + 1] == 0xBB
      && bytes[place + 2] == 0xBF
  }

  private static func isBlank(_ byte: UInt8) -> Bool {
    byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
  }
}
