// SPDX-License-Identifier: Apache-2.0

/// The members of a payload that rules look at (Apple, "Generating a remote notification"), in the order of the
/// parser's C interface.
public enum PayloadKey: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case alert
  case badge
  case sound
  case contentAvailable
  case mutableContent
  case category
  case contentChanged
  case timestamp
  case event
  case contentState
  case attributesType
  case attributes
  case inputPushToken
  case inputPushChannel
  case staleDate
  case dismissalDate
  case relevanceScore
  case soundCritical
  case soundName
  case soundVolume
  case aps
  case mdm
  /// An empty text counts as `null`.
  case attributesID

  /// The member's path in a request: `payload.aps.content-available`.
  public var path: String {
    switch self {
    case .alert: "payload.aps.alert"
    case .badge: "payload.aps.badge"
    case .sound: "payload.aps.sound"
    case .contentAvailable: "payload.aps.content-available"
    case .mutableContent: "payload.aps.mutable-content"
    case .category: "payload.aps.category"
    case .contentChanged: "payload.aps.content-changed"
    case .timestamp: "payload.aps.timestamp"
    case .event: "payload.aps.event"
    case .contentState: "payload.aps.content-state"
    case .attributesType: "payload.aps.attributes-type"
    case .attributes: "payload.aps.attributes"
    case .inputPushToken: "payload.aps.input-push-token"
    case .inputPushChannel: "payload.aps.input-push-channel"
    case .staleDate: "payload.aps.stale-date"
    case .dismissalDate: "payload.aps.dismissal-date"
    case .relevanceScore: "payload.aps.relevance-score"
    case .soundCritical: "payload.aps.sound.critical"
    case .soundName: "payload.aps.sound.name"
    case .soundVolume: "payload.aps.sound.volume"
    case .aps: "payload.aps"
    case .mdm: "payload.mdm"
    case .attributesID: "payload.aps.attributes.id"
    }
  }

  public var description: String { path }
}

/// The kind of value at a key, as far as rules need it. Numbers are judged by their value: `1.0` is `one`.
public enum PayloadValue: UInt8, Sendable, CaseIterable {
  case absent
  case null
  case no
  case yes
  case zero
  case one
  /// A whole number above 1.
  case count
  /// A number below zero.
  case negative
  /// A number between 0 and 1.
  case fraction
  /// Any other number.
  case decimal
  case text
  case array
  case object
  /// The texts `start`, `update` and `end` of `event`.
  case start
  case update
  case end

  /// The kind with these four bits. The compiler's own initializer would cost a call per key.
  @inline(__always)
  init(bits: UInt8) {
    self =
      switch bits & 15 {
      case 0: .absent
      case 1: .null
      case 2: .no
      case 3: .yes
      case 4: .zero
      case 5: .one
      case 6: .count
      case 7: .negative
      case 8: .fraction
      case 9: .decimal
      case 10: .text
      case 11: .array
      case 12: .object
      case 13: .start
      case 14: .update
      default: .end
      }
  }

  /// `null` counts as absent.
  @inline(__always)
  public var isGiven: Bool { self != .absent && self != .null }

  public var isText: Bool {
    switch self {
    case .text, .start, .update, .end: true
    default: false
    }
  }

  public var isNumber: Bool {
    switch self {
    case .zero, .one, .count, .negative, .fraction, .decimal: true
    default: false
    }
  }

  /// A number from 0 to 1.
  public var isShare: Bool { self == .zero || self == .one || self == .fraction }

  /// A whole number, 0 or more.
  public var isCount: Bool { self == .zero || self == .one || self == .count }
}

/// The facts about a payload that the parser found while checking its JSON: two words of four bits per key, so that a
/// notification needs no allocation.
public struct PayloadFacts: Sendable {
  /// Four bits for each of the first 16 keys.
  private var low: UInt64
  /// Four bits for each of the others.
  private var high: UInt64
  /// Members of the payload's top level.
  public var members: UInt32
  /// `alert` is a non-empty text, or an object with a non-empty title, subtitle or body (or a key for one).
  public var hasAlertText: Bool
  /// `interruption-level` is given and not one of `passive`, `active`, `time-sensitive`, `critical`.
  public var hasOddLevel: Bool
  /// `interruption-level` is `critical`.
  public var hasCriticalLevel = false
  /// Members in a place or form that devices do not read.
  public var oddities = PayloadOddities()
  /// A bit for each key whose number is too large for a time in epoch seconds.
  private let late: UInt32

  public init(
    low: UInt64 = 0, high: UInt64 = 0, members: UInt32 = 0, hasAlertText: Bool = false,
    hasOddLevel: Bool = false, late: UInt32 = 0
  ) {
    self.low = low
    self.high = high
    self.members = members
    self.hasAlertText = hasAlertText
    self.hasOddLevel = hasOddLevel
    self.late = late
  }

  /// True if the device neither shows nor plays anything by itself: no alert and no sound.
  public var isSilent: Bool { !self[.alert].isGiven && !self[.sound].isGiven }

  /// True if the number at a key is too large for a time in epoch seconds.
  public func isLate(_ key: PayloadKey) -> Bool { late >> UInt32(key.rawValue) & 1 != 0 }

  /// The kind of value at a key.
  public subscript(key: PayloadKey) -> PayloadValue {
    @inline(__always) get {
      let word = key.rawValue < 16 ? low : high
      return PayloadValue(bits: UInt8(truncatingIfNeeded: word >> UInt64(key.rawValue % 16 * 4)))
    }
    set {
      let shift = UInt64(key.rawValue % 16 * 4)
      let bits = UInt64(newValue.rawValue) << shift
      if key.rawValue < 16 {
        low = low & ~(15 << shift) | bits
      } else {
        high = high & ~(15 << shift) | bits
      }
    }
  }
}
