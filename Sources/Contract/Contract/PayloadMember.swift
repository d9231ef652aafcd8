// SPDX-License-Identifier: Apache-2.0

/// The members of a payload that devices read (Apple, "Generating a remote notification", "Payload key reference";
/// "Starting and updating Live Activities with ActivityKit push notifications"), in the order of the parser's C
/// interface.
public enum PayloadMember: UInt8, Sendable, CaseIterable {
  // Of `aps`. The first nine are also searched outside it.
  case alert, badge, sound, contentAvailable, mutableContent, threadID, interruptionLevel
  case targetContentID, relevanceScore
  case category, filterCriteria, urlArguments
  // Of `aps` in pushes of other types than `alert`.
  case staleDate, contentState, timestamp, event, dismissalDate, attributesType, attributes
  case inputPushToken, inputPushChannel, contentChanged
  // Of `aps.alert`.
  case title, subtitle, body, launchImage, titleKey, titleArguments, subtitleKey, subtitleArguments
  case bodyKey, bodyArguments
  // Of `aps.sound`.
  case critical, soundName, volume

  /// Its path from `aps` on: `aps.thread-id`.
  public var place: String {
    switch self {
    case .alert: "aps.alert"
    case .badge: "aps.badge"
    case .sound: "aps.sound"
    case .contentAvailable: "aps.content-available"
    case .mutableContent: "aps.mutable-content"
    case .threadID: "aps.thread-id"
    case .interruptionLevel: "aps.interruption-level"
    case .targetContentID: "aps.target-content-id"
    case .relevanceScore: "aps.relevance-score"
    case .category: "aps.category"
    case .filterCriteria: "aps.filter-criteria"
    case .urlArguments: "aps.url-args"
    case .staleDate: "aps.stale-date"
    case .contentState: "aps.content-state"
    case .timestamp: "aps.timestamp"
    case .event: "aps.event"
    case .dismissalDate: "aps.dismissal-date"
    case .attributesType: "aps.attributes-type"
    case .attributes: "aps.attributes"
    case .inputPushToken: "aps.input-push-token"
    case .inputPushChannel: "aps.input-push-channel"
    case .contentChanged: "aps.content-changed"
    case .title: "aps.alert.title"
    case .subtitle: "aps.alert.subtitle"
    case .body: "aps.alert.body"
    case .launchImage: "aps.alert.launch-image"
    case .titleKey: "aps.alert.title-loc-key"
    case .titleArguments: "aps.alert.title-loc-args"
    case .subtitleKey: "aps.alert.subtitle-loc-key"
    case .subtitleArguments: "aps.alert.subtitle-loc-args"
    case .bodyKey: "aps.alert.loc-key"
    case .bodyArguments: "aps.alert.loc-args"
    case .critical: "aps.sound.critical"
    case .soundName: "aps.sound.name"
    case .volume: "aps.sound.volume"
    }
  }

  /// Its path in a request: `payload.aps.thread-id`.
  public var path: String { "payload.\(place)" }

  /// Its key: `thread-id`.
  public var key: String { place.split(separator: ".").last.map(String.init) ?? place }

  /// The object in which devices look for it: `aps.alert`.
  public var home: String { String(place.dropLast(key.count + 1)) }

  /// The required value, in words.
  var wanted: String {
    switch self {
    case .contentAvailable, .mutableContent: "the number 1"
    case .titleArguments, .subtitleArguments, .bodyArguments, .urlArguments: "an array of strings"
    case .relevanceScore: "a number from 0 to 1"
    default: "a string"
    }
  }
}

/// A set of payload members, in one word.
public struct PayloadMembers: Equatable, Sendable {
  public var bits: UInt64

  @inline(__always)
  public init(bits: UInt64 = 0) { self.bits = bits }

  public init(_ members: PayloadMember...) {
    bits = members.reduce(0) { $0 | 1 << UInt64($1.rawValue) }
  }

  /// The members in a range.
  init(_ range: ClosedRange<UInt8>) { bits = range.reduce(0) { $0 | 1 << UInt64($1) } }

  @inline(__always)
  public var isEmpty: Bool { bits == 0 }

  @inline(__always)
  public func contains(_ member: PayloadMember) -> Bool {
    bits >> UInt64(member.rawValue) & 1 != 0
  }

  @inline(__always)
  public mutating func insert(_ member: PayloadMember) { bits |= 1 << UInt64(member.rawValue) }

  @inline(__always)
  func intersection(_ other: Self) -> Self { Self(bits: bits & other.bits) }

  @inline(__always)
  func union(_ other: Self) -> Self { Self(bits: bits | other.bits) }

  /// The members in order.
  var members: [PayloadMember] { PayloadMember.allCases.filter { contains($0) } }
}

/// The members in a place or form that devices do not read.
public struct PayloadOddities: Equatable, Sendable {
  /// Members under a name that differs only by case, hyphens and underscores: `thread_id`.
  public var misspelled = PayloadMembers()
  /// Members with a value of a wrong type, where no `PayloadKey` has the type.
  public var mistyped = PayloadMembers()
  /// Texts of an alert given as objects, which Live Activities allow.
  public var structured = PayloadMembers()
  /// Members of the alert in `aps`, or of `aps` in the alert.
  public var misplaced = PayloadMembers()
  /// Members of `aps` outside it.
  public var outside = PayloadMembers()
  /// Members of the alert in the right place.
  public var given = PayloadMembers()
}
