// SPDX-License-Identifier: Apache-2.0

/// The rules of each field of a request. Parsing the JSON happens in IO.
public enum RequestRules {
  /// The most tokens of one request.
  public static let maximumTokens = 1_000
  /// The most bytes of a request id, unescaped.
  public static let maximumID = 128
  /// The most bytes of a bundle id and of a topic (Apple states none; DNS-like names stay below it).
  public static let maximumName = 255
  /// The most bytes of a collapse id (Apple, `apns-collapse-id`).
  public static let maximumCollapseID = 64
  /// The most bytes of a key by which newer pushes supersede older ones.
  public static let maximumSupersede = 64
  /// The most bytes of a group.
  public static let maximumGroup = 64
  /// The most users of one request.
  public static let maximumUsers = 100
  /// The most bytes of a request to users in its record.
  public static let maximumPeopleBytes = 256 << 10

  /// True if a byte is allowed in a bundle id or a topic: letters, digits, dot, hyphen, underscore.
  @inline(__always)
  public static func isNameCharacter(_ byte: UInt8) -> Bool {
    let letter = (byte | 0x20) &- 0x61
    return letter < 26 || byte &- 0x30 < 10 || byte == 0x2E || byte == 0x2D || byte == 0x5F
  }

  /// Checks a bundle id (`app`) or a topic: 1…255 letters, digits, dots, hyphens, underscores.
  public static func checkName(_ name: Span<UInt8>, _ field: RequestField) throws(RequestError) {
    guard name.count > 0 else { throw RequestError(field, .emptyText) }
    guard name.count <= maximumName else {
      throw RequestError(field, .tooLong(bytes: name.count, limit: maximumName))
    }
    for index in 0..<name.count where !isNameCharacter(name[index]) {
      throw RequestError(
        field, .forbiddenCharacter(ShownCharacter.text(name, at: index), at: index))
    }
  }

  /// Checks a topic against app and type: the bundle id plus the type's suffix. An MDM topic is the UID of a
  /// certificate and only has to be a valid name.
  public static func checkTopic(
    _ topic: Span<UInt8>, app: Span<UInt8>, type: PushType, types: PushTypes = .builtIn
  ) throws(RequestError) {
    try checkName(topic, .topic)
    guard type != .mdm, let suffix = types.suffix(of: type) else { return }
    let bytes = suffix.utf8.span
    var matches = topic.count == app.count + bytes.count
    if matches {
      for index in 0..<app.count where topic[index] != app[index] { matches = false }
      for index in 0..<bytes.count where topic[app.count + index] != bytes[index] {
        matches = false
      }
    }
    guard matches else {
      throw RequestError(.topic, .topicDoesNotMatch(expected: app.text + suffix))
    }
  }

  /// Checks a request id: 1…128 bytes.
  public static func checkID(_ id: Span<UInt8>) throws(RequestError) {
    try checkLength(id, .id, most: maximumID)
  }

  private static func checkLength(
    _ text: Span<UInt8>, _ field: RequestField, most: Int
  ) throws(RequestError) {
    guard text.count > 0 else { throw RequestError(field, .emptyText) }
    guard text.count <= most else {
      throw RequestError(field, .tooLong(bytes: text.count, limit: most))
    }
  }

  /// - Parameter place: the position of a forbidden byte; nil without one.
  private static func refuse(
    _ place: Int?, in text: Span<UInt8>, _ field: RequestField
  ) throws(RequestError) {
    guard let place else { return }
    throw RequestError(field, .forbiddenCharacter(ShownCharacter.text(text, at: place), at: place))
  }

  /// Checks the text of a field that becomes a header field unchanged: 1 to `most` bytes of printable ASCII, as RFC
  /// 9110 §5.5 requires, without a blank at either end, which RFC 9113 §8.2.1 forbids.
  public static func checkHeaderText(
    _ text: Span<UInt8>, _ field: RequestField, most: Int
  ) throws(RequestError) {
    try checkLength(text, field, most: most)
    try refuse(CarriedHeaders.forbiddenPlace(inValue: text), in: text, field)
  }

  /// Checks the text of a carried field that is shown in receipts: 1 to `most` bytes, no control characters, no blank
  /// at either end.
  public static func checkText(
    _ text: Span<UInt8>, _ field: RequestField, most: Int
  ) throws(RequestError) {
    try checkLength(text, field, most: most)
    try refuse(forbiddenPlace(in: text), in: text, field)
  }

  /// True if these bytes are a valid text.
  public static func isText(_ text: Span<UInt8>, most: Int) -> Bool {
    guard text.count > 0, text.count <= most else { return false }
    return forbiddenPlace(in: text) == nil
  }

  /// The position of the first forbidden byte: a control character (U+0080…U+009F are two bytes, the first of them C2),
  /// a blank at either end, or invalid UTF-8.
  private static func forbiddenPlace(in text: Span<UInt8>) -> Int? {
    if text[0] == 0x20 { return 0 }
    var index = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x20 || byte == 0x7F { return index }
      let length = byte < 0x80 ? 1 : sequenceLength(text, index)
      if length == 0 || byte == 0xC2 && text[index + 1] < 0xA0 { return index }
      index += length
    }
    return text[text.count - 1] == 0x20 ? text.count - 1 : nil
  }

  /// Checks a priority against its push type. A broadcast allows all three.
  public static func checkPriority(
    _ priority: Int64, type: PushType, isBroadcast: Bool = false
  ) throws(RequestError) {
    let all = [10, 5, 1]
    let isAllowed =
      isBroadcast
      ? priority == 10 || priority == 5 || priority == 1 : type.suits(priority: priority)
    guard !isAllowed else { return }
    let allowed = isBroadcast ? all : all.filter { type.suits(priority: Int64($0)) }
    throw RequestError(.priority, .priorityNotAllowed(priority, type, allowed))
  }

  /// The upper bound of times in a request, in epoch seconds: milliseconds given as seconds would keep a notification
  /// for thousands of years. In milliseconds, it is far from overflowing.
  public static let timeLimit: Int64 = 100_000_000_000

  /// The lower bound of times in a request, in epoch seconds (2001, before APNs existed): a duration given as a time
  /// would expire a notification at once.
  public static let earliestTime: Int64 = 1_000_000_000

  /// Names the year of a time before that, in epoch seconds.
  public static func early(_ seconds: Int64) -> String {
    "\(seconds) is a time in \(1970 + seconds / 31_556_952)"
  }

  /// Checks an expiration: epoch seconds, 0 for "one attempt, do not store".
  public static func checkExpiration(_ seconds: Int64) throws(RequestError) {
    guard seconds >= 0 else { throw RequestError(.expiration, .negative) }
    guard seconds < timeLimit else { throw RequestError(.expiration, .notSeconds(seconds)) }
    guard seconds == 0 || seconds >= earliestTime else {
      throw RequestError(.expiration, .notATime(seconds))
    }
  }

  /// The longest `expires_in`, in seconds: a year. APNs stores a notification for at most 30 days; more than a year is
  /// most likely a time in epoch seconds, or milliseconds.
  public static let maximumExpiresIn: Int64 = 31_536_000

  /// Checks a number of seconds until expiration: 0 for "one attempt, do not store".
  public static func checkExpiresIn(_ seconds: Int64) throws(RequestError) {
    guard (0...maximumExpiresIn).contains(seconds) else {
      throw RequestError(.expiresIn, .notDuration(seconds, limit: maximumExpiresIn))
    }
  }

  /// The longest time from a request to its `send_at`, in days.
  public static let furthestDays: Int64 = 30

  /// Checks a numeric `send_at`, in epoch seconds.
  public static func checkSendAt(seconds: Int64) throws(RequestError) {
    guard seconds < timeLimit else { throw RequestError(.sendAt, .notSeconds(seconds)) }
    guard seconds >= 0 else { throw RequestError(.sendAt, .notAMoment) }
    guard seconds >= earliestTime else { throw RequestError(.sendAt, .notATime(seconds)) }
  }

  /// Checks a `send_at` against the time when the request was written; both in milliseconds since the epoch.
  public static func checkSendAt(_ time: Int64, received: Int64) throws(RequestError) {
    guard time - received <= furthestDays * 86_400_000 else {
      throw RequestError(.sendAt, .tooFarAhead(days: furthestDays))
    }
  }

  /// Checks that the expiration is later than a `send_at` (milliseconds since the epoch).
  public static func checkScheduled(_ time: Int64, expiration: Int64?) throws(RequestError) {
    if let expiration, expiration > 0, expiration * 1_000 <= time {
      throw RequestError(.expiration, .expiresBeforeSending)
    }
  }

  /// The expiration, in epoch seconds, of a request made at `created` (milliseconds since the epoch) that expires
  /// `seconds` later. Fractions of a second round up; 0 stays 0.
  public static func expiration(in seconds: Int64, created: Int64) -> Int64 {
    seconds == 0 ? 0 : created / 1_000 + (created % 1_000 == 0 ? 0 : 1) + seconds
  }

  /// Checks the size of a payload against the limit of its type, or of broadcasts.
  public static func checkPayload(
    _ bytes: Int, type: PushType, isBroadcast: Bool = false
  ) throws(RequestError) {
    let limit = isBroadcast ? PushType.broadcastPayloadLimit : type.payloadLimit
    guard bytes <= limit else { throw RequestError(.payload, .tooLong(bytes: bytes, limit: limit)) }
  }

  /// Checks a channel id and the fields beside it: a broadcast is a Live Activity push, without a collapse id.
  public static func checkChannel(
    _ channel: Span<UInt8>, type: PushType, hasCollapseID: Bool
  ) throws(RequestError) {
    do throws(ChannelID.Problem) {
      try ChannelID.validate(channel)
    } catch {
      throw RequestError(.channel, .channel(error))
    }
    guard type == .liveactivity else { throw RequestError(.type, .notOnChannel) }
    if hasCollapseID { throw RequestError(.collapseID, .notOnChannel) }
  }

  /// True if an app is a Wallet pass type rather than a bundle id.
  public static func isPass(_ app: Span<UInt8>) -> Bool {
    app.count > 5 && app.extracting(0..<5).spells("pass.")
  }
}

extension RequestRules {
  /// True if these bytes are valid as the content of a JSON string (RFC 8259 §7): every quote and control character
  /// escaped, every escape complete and a character (no lone surrogate, which parsers reject), and valid UTF-8.
  public static func isEscapedText(_ text: Span<UInt8>) -> Bool {
    // Nearly every text has only letters and digits: without a branch per byte, the compiler vectorizes the loop.
    var found: UInt8 = 0
    for index in text.indices {
      let byte = text[index]
      found |= (byte < 0x20 ? 1 : 0) | (byte == 0x22 ? 1 : 0) | (byte == 0x5C ? 1 : 0) | byte & 0x80
    }
    return found == 0 || isEscaped(text)
  }

  private static func isEscaped(_ text: Span<UInt8>) -> Bool {
    var index = 0
    while index < text.count {
      let byte = text[index]
      if byte < 0x20 || byte == UInt8(ascii: "\"") { return false }
      let length: Int
      if byte == UInt8(ascii: "\\") {
        length = escapeLength(text, index)
      } else if byte < 0x80 {
        length = 1
      } else {
        length = sequenceLength(text, index)
      }
      if length == 0 { return false }
      index += length
    }
    return true
  }

  /// The length of the escape that starts at `index`; 0 if it is not an escape.
  private static func escapeLength(_ text: Span<UInt8>, _ index: Int) -> Int {
    guard index + 1 < text.count else { return 0 }
    switch text[index + 1] {
    case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"),
      UInt8(ascii: "f"), UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
      return 2
    case UInt8(ascii: "u"):
      guard let unit = codeUnit(text, index) else { return 0 }
      guard unit & 0xF800 == 0xD800 else { return 6 }
      // The second surrogate must be an escape as well.
      guard unit < 0xDC00, index + 7 < text.count, text[index + 6] == UInt8(ascii: "\\"),
        text[index + 7] == UInt8(ascii: "u"), let low = codeUnit(text, index + 6)
      else { return 0 }
      return low & 0xFC00 == 0xDC00 ? 12 : 0
    default: return 0
    }
  }

  /// The code unit of the escape `\uXXXX` at `index`; nil if there is none.
  private static func codeUnit(_ text: Span<UInt8>, _ index: Int) -> UInt32? {
    guard index + 5 < text.count else { return nil }
    var value: UInt32 = 0
    for place in index + 2...index + 5 {
      let digit = UInt32(HexDigit.value(text[place]))
      guard digit < 16 else { return nil }
      value = value << 4 | digit
    }
    return value
  }

  /// The length of the multi-byte UTF-8 sequence that starts at `index`; 0 if it is invalid.
  private static func sequenceLength(_ text: Span<UInt8>, _ index: Int) -> Int {
    let lead = text[index]
    let length: Int
    switch lead {
    case 0xC2...0xDF: length = 2
    case 0xE0...0xEF: length = 3
    case 0xF0...0xF4: length = 4
    default: return 0
    }
    guard index + length <= text.count else { return 0 }
    for next in index + 1..<index + length where text[next] & 0xC0 != 0x80 { return 0 }
    // Overlong forms, surrogates and code points above U+10FFFF.
    switch (lead, text[index + 1]) {
    case (0xE0, ..<0xA0), (0xED, 0xA0...), (0xF0, ..<0x90), (0xF4, 0x90...): return 0
    default: return length
    }
  }
}
