// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records

/// The subject of a trace, and the ids that were found to belong to it.
///
/// A byte search excludes most records first, so that millions of unrelated records are never parsed.
struct TraceSubject {
  /// The number of request ids to search the requests topic for: each costs a search of every record.
  static let mostRequests = 16

  enum Wanted: Equatable, Sendable {
    /// A request id or an `apns-id`.
    case id(ExactText)
    /// A prefix of a device token, or all of it, in lower case.
    case token(String)
  }

  /// A request that notifications came from; without an owner, anybody's.
  private struct Request: Hashable {
    let id: ExactText
    let owner: ExactText?
  }

  let wanted: Wanted
  /// The spellings that a record may use.
  private let spellings: [[UInt8]]
  /// Whether records may have the id, or one of those that were found, in other spellings: they keep a caller's escapes,
  /// such as `\/` and `\u00fc`.
  private let mayBeEscaped: Bool
  private var mayAskEscaped = false
  /// The ids of the requests that the found notifications came from.
  private(set) var requestIDs: Set<ExactText> = []
  private var requests: Set<Request> = []
  private var requestSpellings: [[UInt8]] = []
  private(set) var apnsIDs: Set<ExactText> = []
  /// The devices of the notifications that were found, in lower case.
  private(set) var devices: Set<String> = []
  private(set) var leftOut = false

  init(_ wanted: Wanted) {
    self.wanted = wanted
    switch wanted {
    case .id(let id):
      (spellings, mayBeEscaped) = (Self.spellings(id.text), !Self.isPlain(id.text))
    case .token(let digits):
      // Requests have tokens as their callers write them.
      let all = digits == digits.uppercased() ? [digits] : [digits, digits.uppercased()]
      (spellings, mayBeEscaped) = (all.map { Array($0.utf8) }, false)
    }
  }

  /// Whether the text has only characters that nobody escapes.
  private static func isPlain(_ text: String) -> Bool {
    text.utf8.allSatisfy { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
      default: "-._: ".utf8.contains(byte)
      }
    }
  }

  /// The text itself, as the content of a JSON string, and in lower case, as `apns-id`s are written.
  private static func spellings(_ text: String) -> [[UInt8]] {
    let escaped = Array(JSONValue.string(text).text.dropFirst().dropLast())
    let all = [Array(text.utf8), escaped, Array(text.lowercased().utf8)]
    return all.indices.filter { !all[..<$0].contains(all[$0]) }.map { all[$0] }
  }

  /// Remembers the ids of a hop, for the topics that do not contain the subject itself.
  mutating func note(_ hop: TraceHop) {
    if let id = hop.apnsID { apnsIDs.insert(id.exact) }
    if let token = hop.token { devices.insert(token) }
    guard let id = hop.requestID, wanted != .id(id) else { return }
    if !requestIDs.contains(id) {
      guard requestIDs.count < Self.mostRequests else {
        leftOut = true
        return
      }
      requestIDs.insert(id)
      requestSpellings += Self.spellings(id.text)
      if !Self.isPlain(id.text) { mayAskEscaped = true }
    }
    requests.insert(Request(id: id, owner: hop.owner))
  }

  /// Whether these bytes contain the subject, or escapes in which it may stand.
  func isNamed(in bytes: UnsafeRawBufferPointer) -> Bool {
    spellings.contains { bytes.holds($0) } || (mayBeEscaped && bytes.holds(Self.backslash))
  }

  private static let backslash = [UInt8(ascii: "\\")]

  /// Whether these bytes contain the subject or a request that it came from.
  func isNamedOrAsked(in bytes: UnsafeRawBufferPointer) -> Bool {
    isNamed(in: bytes) || requestSpellings.contains { bytes.holds($0) }
      || (mayAskEscaped && bytes.holds(Self.backslash))
  }

  /// Whether a notification with these ids is the subject: the bytes alone may match by chance.
  func matches(requestID: ExactText?, apnsID: String?, token: String?) -> Bool {
    switch wanted {
    case .id(let id): requestID == id || apnsID?.lowercased().exact == id.text.lowercased().exact
    case .token(let digits): token?.lowercased().hasPrefix(digits) ?? false
    }
  }

  /// Whether a request is the subject, or one that it came from.
  ///
  /// - Parameter tokens: in lower case; empty if it names no device by its token.
  func asks(requestID: ExactText?, owner: ExactText?, tokens: [String]) -> Bool {
    if let requestID, isFollowed(requestID, owner),
      tokens.isEmpty || tokens.contains(where: devices.contains)
    {
      return true
    }
    switch wanted {
    case .id(let text): return requestID == text
    case .token(let digits): return tokens.contains { $0.hasPrefix(digits) }
    }
  }

  private func isFollowed(_ id: ExactText, _ owner: ExactText?) -> Bool {
    guard owner != nil else { return requestIDs.contains(id) }
    let owners = requests.lazy.filter { $0.id == id }.map(\.owner)
    // What names no app, such as some dead letters, does not make it anybody's where others name one.
    return owners.contains(owner) || !owners.isEmpty && owners.allSatisfy { $0 == nil }
  }
}
