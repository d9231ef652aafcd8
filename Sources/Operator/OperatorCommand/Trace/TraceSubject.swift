// SPDX-License-Identifier: Apache-2.0
import Bytes
import Identity
import JSON

/// The subject of a trace, and the names that have turned out to belong to it.
///
/// Whether a record may concern it is asked of its bytes first, so that millions of records that do not are never
/// parsed.
struct TraceSubject {
  /// More request ids than this are not followed into the requests topic: each costs a search of every record.
  static let mostRequests = 16

  enum Wanted: Equatable, Sendable {
    /// A request id or an `apns-id`.
    case id(ExactText)
    /// The first digits of a device token, or all of them, in lower case.
    case token(String)
  }

  let wanted: Wanted
  /// The ways in which a record may spell it.
  private let spellings: [[UInt8]]
  /// Requests that the notifications found came from.
  private(set) var requestIDs: Set<ExactText> = []
  private var requestSpellings: [[UInt8]] = []
  private(set) var apnsIDs: Set<ExactText> = []
  private(set) var leftOut = false

  init(_ wanted: Wanted) {
    self.wanted = wanted
    switch wanted {
    case .id(let id): spellings = Self.spellings(id.text)
    case .token(let digits): spellings = [Array(digits.utf8)]
    }
  }

  /// As it stands, as the content of a JSON string, and in lower case, as `apns-id`s are written.
  private static func spellings(_ text: String) -> [[UInt8]] {
    let escaped = Array(JSONValue.string(text).text.dropFirst().dropLast())
    let all = [Array(text.utf8), escaped, Array(text.lowercased().utf8)]
    return all.indices.filter { !all[..<$0].contains(all[$0]) }.map { all[$0] }
  }

  /// Remembers what a hop is known by, for the topics that do not name the subject itself.
  mutating func note(_ hop: TraceHop) {
    if let id = hop.apnsID { apnsIDs.insert(id.exact) }
    guard let id = hop.requestID, wanted != .id(id), !requestIDs.contains(id) else { return }
    guard requestIDs.count < Self.mostRequests else {
      leftOut = true
      return
    }
    requestIDs.insert(id)
    requestSpellings += Self.spellings(id.text)
  }

  /// True if these bytes name the subject.
  func isNamed(in bytes: UnsafeRawBufferPointer) -> Bool {
    spellings.contains { bytes.holds($0) }
  }

  /// True if these bytes name the subject or a request that it came from.
  func isNamedOrAsked(in bytes: UnsafeRawBufferPointer) -> Bool {
    isNamed(in: bytes) || requestSpellings.contains { bytes.holds($0) }
  }

  /// True if a notification with these names is the subject: the bytes alone may name it by chance.
  func matches(requestID: ExactText?, apnsID: String?, token: String?) -> Bool {
    switch wanted {
    case .id(let id): requestID == id || apnsID?.lowercased().exact == id.text.lowercased().exact
    case .token(let digits): token?.lowercased().hasPrefix(digits) ?? false
    }
  }

  /// True if a request is the subject's, or one that it came from.
  func asks(requestID: ExactText?, tokens: [String]) -> Bool {
    if let requestID, requestIDs.contains(requestID) { return true }
    switch wanted {
    case .id(let text): return requestID == text
    case .token(let digits): return tokens.contains { $0.lowercased().hasPrefix(digits) }
    }
  }
}
