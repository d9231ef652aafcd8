// SPDX-License-Identifier: Apache-2.0

package import APNS

/// The rules of a request's fields, each by itself. Parsing the JSON happens in IO.
package enum RequestRules {
  /// The most tokens of one request.
  package static let maximumTokens = 1_000
  /// The most bytes of a request id, unescaped.
  package static let maximumID = 128
  /// The most bytes of a bundle id and of a topic (Apple states none; DNS-like names stay below it).
  package static let maximumName = 255

  /// Whether a byte may stand in a bundle id or a topic: letters, digits, dot, hyphen, underscore.
  @inlinable
  package static func isNameCharacter(_ byte: UInt8) -> Bool {
    let letter = (byte | 0x20) &- 0x61
    return letter < 26 || byte &- 0x30 < 10 || byte == 0x2E || byte == 0x2D || byte == 0x5F
  }

  /// Checks a bundle id (`app`) or a topic: 1…255 letters, digits, dots, hyphens, underscores.
  package static func checkName(
    _ name: Span<UInt8>, _ field: RequestField
  ) throws(RequestError) {
    guard name.count > 0 else { throw RequestError(field, .emptyText) }
    guard name.count <= maximumName else {
      throw RequestError(field, .tooLong(bytes: name.count, limit: maximumName))
    }
    for index in 0..<name.count where !isNameCharacter(name[index]) {
      throw RequestError(field, .forbiddenCharacter)
    }
  }

  /// Checks a topic against app and type: the bundle id and the type's suffix. An MDM topic is the UID of
  /// a certificate and only has to be a name.
  package static func checkTopic(
    _ topic: Span<UInt8>, app: Span<UInt8>, type: PushType
  ) throws(RequestError) {
    try checkName(topic, .topic)
    if type == .mdm { return }
    let suffix = type.topicSuffix.description
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
  package static func checkID(_ id: Span<UInt8>) throws(RequestError) {
    guard id.count > 0 else { throw RequestError(.id, .emptyText) }
    guard id.count <= maximumID else {
      throw RequestError(.id, .tooLong(bytes: id.count, limit: maximumID))
    }
  }

  /// Checks a collapse id: at most 64 bytes, no control characters, no blank at either end (a header
  /// value would lose it).
  package static func checkCollapseID(_ id: Span<UInt8>) throws(RequestError) {
    guard id.count > 0 else { throw RequestError(.collapseID, .emptyText) }
    guard id.count <= Envelope.maximumCollapseID else {
      throw RequestError(
        .collapseID, .tooLong(bytes: id.count, limit: Envelope.maximumCollapseID))
    }
    guard isCollapseID(id) else { throw RequestError(.collapseID, .forbiddenCharacter) }
  }

  /// Whether these bytes can be a collapse id.
  package static func isCollapseID(_ id: Span<UInt8>) -> Bool {
    guard id.count > 0, id.count <= Envelope.maximumCollapseID else { return false }
    guard id[0] != 0x20, id[id.count - 1] != 0x20 else { return false }
    for index in 0..<id.count where id[index] < 0x20 || id[index] == 0x7F { return false }
    return true
  }

  /// Checks a priority against the type that it goes with.
  package static func checkPriority(_ priority: Int64, type: PushType) throws(RequestError) {
    guard type.allows(priority: priority) else {
      throw RequestError(.priority, .priorityNotAllowed(priority, type))
    }
  }

  /// Checks an expiration: epoch seconds, 0 for "one attempt, do not store".
  package static func checkExpiration(_ seconds: Int64) throws(RequestError) {
    guard seconds >= 0 else { throw RequestError(.expiration, .negative) }
    // Milliseconds given for seconds would keep a notification for thousands of years.
    guard seconds < 100_000_000_000 else {
      throw RequestError(.expiration, .unknownValue("\(seconds)"))
    }
  }

  /// Checks the size of a payload against its type's limit.
  package static func checkPayload(_ bytes: Int, type: PushType) throws(RequestError) {
    guard bytes <= type.payloadLimit else {
      throw RequestError(.payload, .tooLong(bytes: bytes, limit: type.payloadLimit))
    }
  }
}
