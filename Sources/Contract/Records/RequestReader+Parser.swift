// SPDX-License-Identifier: Apache-2.0

internal import CSimdjson
internal import Contract

extension PayloadFacts {
  init(_ raw: martlet_payload) {
    self.init(
      low: raw.values.0, high: raw.values.1, members: raw.members,
      hasAlertText: raw.alert_text != 0, hasOddLevel: raw.odd_level != 0, late: raw.late)
    hasCriticalLevel = raw.critical_level != 0
    oddities.misspelled = PayloadMembers(bits: raw.misspelled)
    oddities.mistyped = PayloadMembers(bits: raw.mistyped)
    oddities.structured = PayloadMembers(bits: raw.structured)
    oddities.misplaced = PayloadMembers(bits: raw.misplaced)
    oddities.outside = PayloadMembers(bits: raw.outside)
    oddities.given = PayloadMembers(bits: raw.given)
  }
}

extension RequestError {
  /// The error of the parser for a record.
  init(_ error: martlet_json_error, in record: UnsafeRawBufferPointer) {
    let field = RequestField(rawValue: UInt8(truncatingIfNeeded: error.field))
    let words = error.words.map { String(cString: $0) } ?? ""
    let problem: RequestError.Problem
    switch Int(error.code) {
    case MARTLET_JSON_EMPTY:
      self.init(field, .empty)
      return
    case MARTLET_JSON_NOT_AN_OBJECT:
      self.init(nil, .notAnObject)
      return
    case MARTLET_JSON_UNKNOWN_FIELD: problem = .unknownField(Self.name(error))
    case MARTLET_JSON_DUPLICATE_FIELD where error.name.bytes != nil:
      problem = .payloadDuplicate(words + Self.name(error))
    case MARTLET_JSON_DUPLICATE_FIELD where words == "both":
      problem = field == .channel ? .channelAndToken : .bothTokenAndTokens
    case MARTLET_JSON_DUPLICATE_FIELD: problem = .duplicate
    case MARTLET_JSON_WRONG_TYPE where error.name.bytes != nil:
      problem = .member(Self.name(error), .notA(words))
    case MARTLET_JSON_WRONG_TYPE: problem = .notA(words)
    case MARTLET_JSON_TOO_MANY:
      problem = .tooMany(
        limit: field == .tokens ? RequestRules.maximumTokens : RequestReader.maximumMembers)
    default:
      if record.starts(with: [0xEF, 0xBB, 0xBF]) {
        self.init(nil, .byteOrderMark)
        return
      }
      // Some of the library's messages are sentences, and the place follows in ours.
      let cause = words.hasSuffix(".") ? String(words.dropLast()) : words
      problem = .malformed(cause, at: Self.character(record, error.offset))
    }
    self.init(field, problem, offset: error.offset)
  }

  /// The character that begins at this byte, as messages show it; `nil` at the end.
  private static func character(_ record: UnsafeRawBufferPointer, _ offset: Int) -> String? {
    guard offset < record.count else { return nil }
    let bytes = UnsafeBufferPointer(
      start: record.baseAddress?.assumingMemoryBound(to: UInt8.self), count: record.count)
    return ShownCharacter.text(bytes.span, at: offset)
  }

  /// The key that the error is about, shortened for a message.
  private static func name(_ error: martlet_json_error) -> String {
    RequestReader.shown(UnsafeRawBufferPointer(error.name))
  }
}
