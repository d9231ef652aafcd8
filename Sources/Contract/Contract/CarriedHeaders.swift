// SPDX-License-Identifier: Apache-2.0

/// Header fields named by the request itself (`headers`), for those that APNs accepts and Martlet has no field for yet.
/// They are sent unchanged, so they must mean nothing else to HTTP or to Martlet.
public enum CarriedHeaders {
  /// The prefix of their names.
  public static let prefix = "apns-"
  /// The most header fields of a notification.
  public static let maximumCount = 8
  /// The most bytes of a request's header fields, names and values together.
  public static let maximumBytes = 256

  /// Names that Martlet sets from fields of the request or that APNs sets in its answers, besides those of
  /// `CarriedField`.
  public static let reserved = [
    "apns-id", "apns-topic", "apns-push-type", "apns-priority", "apns-expiration",
    "apns-channel-id", "apns-request-id", "apns-unique-id",
  ]

  /// The fault in the name of a header field.
  public enum NameProblem: Error, Equatable, Sendable {
    /// Not `apns-` plus at least one token character, in lower case.
    case malformed
    /// Set by Martlet or APNs.
    case reserved
  }

  /// Checks that an envelope's key has the prefix.
  public static func hasPrefix(_ key: Span<UInt8>) -> Bool {
    key.count >= prefix.utf8.count && key.extracting(0..<prefix.utf8.count).spells(prefix)
  }

  /// Checks a name: a token of RFC 9110 §5.6.2 without upper case, which RFC 9113 §8.2.1 does not allow.
  public static func checkName(_ name: Span<UInt8>) throws(NameProblem) {
    guard hasPrefix(name), name.count > prefix.utf8.count, isToken(name) else { throw .malformed }
    for other in reserved where name.spells(other) { throw .reserved }
    if CarriedField.row(ofKey: name) != nil { throw .reserved }
  }

  /// Checks that these bytes are a token in lower case, as required of field names and envelope keys.
  public static func isToken(_ name: Span<UInt8>) -> Bool {
    for index in name.indices where !isTokenCharacter(name[index]) { return false }
    return !name.isEmpty
  }

  private static func isTokenCharacter(_ byte: UInt8) -> Bool {
    if byte &- 0x61 < 26 || byte &- 0x30 < 10 { return true }
    switch byte {
    case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
      UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
      UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
      UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
      return true
    default: return false
    }
  }

  /// The position of the first byte not allowed in a value: anything but printable ASCII, or a blank at either end. 0
  /// for an empty value; nil for a valid one.
  public static func forbiddenPlace(inValue value: Span<UInt8>) -> Int? {
    guard value.count > 0, value[0] != 0x20 else { return 0 }
    for index in value.indices where value[index] < 0x20 || value[index] > 0x7E { return index }
    return value[value.count - 1] == 0x20 ? value.count - 1 : nil
  }
}

extension RequestRules {
  /// The most bytes of `id` (as escaped in the JSON), `collapse_id`, `group`, `supersede`, `headers` and `data` of a
  /// request together: with an id of 224 bytes, as given by martlet-api, there is room for the longest `collapse_id`,
  /// `headers` and `data`. With their keys, they leave room in the envelope's line for everything else.
  public static let maximumCarried = 1_056

  /// Checks one member of `headers`.
  public static func checkHeader(_ name: Span<UInt8>, _ value: Span<UInt8>) throws(RequestError) {
    do throws(CarriedHeaders.NameProblem) {
      try CarriedHeaders.checkName(name)
    } catch {
      throw RequestError(.headers, .member(name.text, .headerName(error)))
    }
    guard !value.isEmpty else { throw RequestError(.headers, .member(name.text, .emptyText)) }
    if let place = CarriedHeaders.forbiddenPlace(inValue: value) {
      let character = ShownCharacter.text(value, at: place)
      throw RequestError(.headers, .member(name.text, .forbiddenCharacter(character, at: place)))
    }
  }

  /// Checks the number of members of `headers`, and their bytes.
  public static func checkHeaders(count: Int, bytes: Int) throws(RequestError) {
    guard count <= CarriedHeaders.maximumCount else {
      throw RequestError(.headers, .tooMany(limit: CarriedHeaders.maximumCount))
    }
    guard bytes <= CarriedHeaders.maximumBytes else {
      throw RequestError(.headers, .tooLong(bytes: bytes, limit: CarriedHeaders.maximumBytes))
    }
  }

  /// Checks the size of `data` without white space.
  public static func checkData(bytes: Int) throws(RequestError) {
    guard bytes <= FlatObject.maximumBytes else {
      throw RequestError(.data, .tooLong(bytes: bytes, limit: FlatObject.maximumBytes))
    }
  }

  /// Checks the size of everything carried beside the payload.
  public static func checkCarried(bytes: Int) throws(RequestError) {
    guard bytes <= maximumCarried else {
      throw RequestError(nil, .carriesTooMuch(bytes: bytes, limit: maximumCarried))
    }
  }
}
