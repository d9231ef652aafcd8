// SPDX-License-Identifier: Apache-2.0

/// The facts that the topics have stated about one device, bounded: the newest facts of each kind, and the first
/// registration.
///
/// It is a set: the order and repetition of facts do not matter, so processes that have read the same facts have the
/// same history.
public struct DeviceHistory: Equatable, Sendable {
  public enum Kind: UInt8, Sendable {
    // The order for equal times: a registration at the exact time from which one revives does so.
    case invalid, registered, removed
    /// Beside a registration: the device changed hands (`DeviceRelease`).
    case released
  }

  /// A registration, a removal, or a mark. Times are milliseconds since the epoch.
  public struct Fact: Hashable, Comparable, Sendable {
    public let kind: Kind
    /// When it happened; for a mark, since when the token is invalid.
    public let at: Int64
    /// For a mark, the earliest registration that revives the token; otherwise `at`.
    public let effect: Int64
    /// For a mark, APNs' reason; otherwise empty.
    public let reason: String

    public static func < (one: Fact, other: Fact) -> Bool {
      (one.effect, one.kind.rawValue, one.at, one.reason)
        < (other.effect, other.kind.rawValue, other.at, other.reason)
    }
  }

  /// The change of the device by a fact.
  public enum Change: String, Sendable {
    case registered, invalid, revived, removed
    /// Registered for another user, or for none any more.
    case ownerChanged = "owner_changed"
  }

  /// The number of facts kept of each kind, besides the first registration.
  public static let perKind = 4

  /// The facts, ordered by their effect.
  public private(set) var facts: [Fact] = []

  public init() {}

  public mutating func note(_ presence: DeviceState.Presence) {
    let time = presence.time
    let kind: Kind = if case .registered = presence { .registered } else { .removed }
    insert(Fact(kind: kind, at: time, effect: time, reason: ""))
  }

  public mutating func note(_ mark: DeviceState.Mark) {
    insert(
      Fact(
        kind: .invalid, at: mark.since, effect: mark.aliveFrom, reason: Self.word(mark.reason)))
  }

  /// Adds the facts of another history.
  public mutating func merge(_ other: DeviceHistory) {
    for fact in other.facts { insert(fact) }
  }

  /// Notes that a registration at this time released the device.
  mutating func noteRelease(at time: Int64) {
    insert(Fact(kind: .released, at: time, effect: time, reason: ""))
  }

  /// When a registration last released the device.
  var releasedAt: Int64? { facts.last { $0.kind == .released }?.at }

  private mutating func insert(_ fact: Fact) {
    var place = facts.count
    while place > 0, fact < facts[place - 1] { place -= 1 }
    guard place == 0 || facts[place - 1] != fact else { return }
    facts.insert(fact, at: place)
    let kept = fact.kind == .registered ? Self.perKind + 1 : Self.perKind
    guard facts.count(where: { $0.kind == fact.kind }) > kept else { return }
    var oldest = facts.indices.filter { facts[$0].kind == fact.kind }
    if fact.kind == .registered { oldest.removeFirst() }
    facts.remove(at: oldest[0])
  }

  /// The changes that result from the facts, oldest first; facts that changed nothing are omitted.
  public var changes: [(change: Change, at: Int64, reason: String)] {
    var changes: [(change: Change, at: Int64, reason: String)] = []
    var isInvalid = false
    for fact in facts {
      let change: Change
      switch fact.kind {
      case .invalid: change = .invalid
      case .removed: change = .removed
      case .registered: change = isInvalid ? .revived : .registered
      case .released:
        // After a removal it had no owner.
        if changes.last?.at == fact.at, changes.dropLast().last?.change == .removed { continue }
        change = .ownerChanged
      }
      if fact.kind != .removed { isInvalid = fact.kind == .invalid }
      let last = changes.last?.change
      let isSame =
        change != .ownerChanged
        && (last == change
          || (change == .registered && (last == .revived || last == .ownerChanged)))
      if !isSame { changes.append((change, fact.at, fact.reason)) }
    }
    return changes
  }
}

// MARK: As text

extension DeviceHistory {
  /// The facts separated by blanks, each a letter and a time: `r1795000000000`; a mark also has how much later a
  /// registration revives it, and the reason: `i1795000000000+1:Unregistered`.
  public var text: String {
    var text = ""
    for fact in facts {
      if !text.isEmpty { text.append(" ") }
      switch fact.kind {
      case .registered: text.append("r")
      case .removed: text.append("x")
      case .released: text.append("o")
      case .invalid: text.append("i")
      }
      text.append(String(fact.at))
      guard fact.kind == .invalid else { continue }
      text.append("+")
      text.append(String(fact.effect &- fact.at))
      text.append(":")
      text.append(fact.reason)
    }
    return text
  }

  /// Reads a text in this form; invalid parts are ignored.
  public init(text: String) {
    for part in text.utf8.split(separator: UInt8(ascii: " ")) {
      guard let fact = Fact(String(Substring(part))) else { continue }
      insert(fact)
    }
  }

  /// The reason in a form that needs no escapes.
  static func word(_ reason: String) -> String {
    let bytes = reason.utf8.prefix(48).map { byte -> UInt8 in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
        byte
      default: UInt8(ascii: "_")
      }
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}

extension DeviceHistory.Fact {
  fileprivate init?(_ text: String) {
    guard let letter = text.first else { return nil }
    let rest = text.dropFirst()
    switch letter {
    case "r", "x", "o":
      guard let time = Int64(rest) else { return nil }
      let kind: DeviceHistory.Kind =
        letter == "r" ? .registered : letter == "x" ? .removed : .released
      self.init(kind: kind, at: time, effect: time, reason: "")
    case "i":
      guard let colon = rest.firstIndex(of: ":"),
        let plus = rest[..<colon].lastIndex(of: "+"), let since = Int64(rest[..<plus]),
        let later = Int64(rest[rest.index(after: plus)..<colon])
      else { return nil }
      let reason = String(rest[rest.index(after: colon)...])
      guard reason == DeviceHistory.word(reason) else { return nil }
      self.init(kind: .invalid, at: since, effect: since &+ later, reason: reason)
    default: return nil
    }
  }
}
