// SPDX-License-Identifier: Apache-2.0

/// The mistakes in a payload that APNs accepts and devices silently ignore.
public enum PayloadRule: UInt8, Sendable, CaseIterable {
  /// A key that is almost one that devices read.
  case misspelledKey
  /// A value of a type that devices do not read there.
  case wrongType
  /// A key of `aps` in the alert, or a key of the alert in `aps`.
  case misplacedKey
  /// A key of `aps` outside it.
  case outsideAps
  /// A key that only pushes of another type have.
  case otherType
  /// Arguments without the key of their text.
  case argumentsWithoutKey
  case emptyAlert
  case categoryWithoutAlert
  case mutableContentWithoutText
  case unknownLevel
  case criticalWithoutSound
  case scoreOutOfRange

  /// The rule's name in verdicts, receipts and metrics.
  public var name: String {
    switch self {
    case .misspelledKey: "misspelled-key"
    case .wrongType: "wrong-type"
    case .misplacedKey: "misplaced-key"
    case .outsideAps: "outside-aps"
    case .otherType: "other-type"
    case .argumentsWithoutKey: "arguments-without-key"
    case .emptyAlert: "empty-alert"
    case .categoryWithoutAlert: "category-without-alert"
    case .mutableContentWithoutText: "mutable-content-without-text"
    case .unknownLevel: "unknown-level"
    case .criticalWithoutSound: "critical-without-sound"
    case .scoreOutOfRange: "score-out-of-range"
    }
  }
}

/// One mistake: the rule, and the member in question.
public struct PayloadWarning: Equatable, Sendable {
  public let rule: PayloadRule
  public let member: PayloadMember

  public init(_ rule: PayloadRule, _ member: PayloadMember) {
    self.rule = rule
    self.member = member
  }

  /// The form in receipts: `misspelled-key:aps.thread-id`.
  public var code: String { "\(rule.name):\(member.place)" }

  /// The mistake, and what devices expect, in words that follow the member's path.
  public var detail: String {
    switch rule {
    case .misspelledKey:
      "is spelled in another way there, which devices ignore; the key is \"\(member.key)\""
    case .wrongType: "must be \(member.wanted); devices ignore anything else"
    case .misplacedKey, .outsideAps:
      "stands in another place, where devices do not look; it belongs in \(member.home)"
    case .otherType: "is ignored in a push of this type; see the request's type"
    case .argumentsWithoutKey:
      "is ignored without the key of the text that it would fill, such as loc-key beside loc-args"
    case .emptyAlert: "has no text, so devices show none"
    case .categoryWithoutAlert: "is ignored without an alert that could show its actions"
    case .mutableContentWithoutText:
      "has no effect without a text in the alert: the extension is not called"
    case .unknownLevel: "is not one of passive, active, time-sensitive, critical; devices ignore it"
    case .criticalWithoutSound:
      "is critical without a critical sound: aps.sound must be an object with \"critical\":1"
    case .scoreOutOfRange: "is not a number from 0 to 1; devices ignore it"
    }
  }
}

/// All mistakes of a payload, in a few words of memory and without allocation.
public struct PayloadWarnings: Equatable, Sendable {
  /// The most bytes of `listText`.
  public static let longestList = 240

  private var misspelled = PayloadMembers()
  private var mistyped = PayloadMembers()
  private var misplaced = PayloadMembers()
  private var outside = PayloadMembers()
  private var ofOtherTypes = PayloadMembers()
  private var orphans = PayloadMembers()
  /// A bit for each rule that is about a single member.
  private var single: UInt16 = 0

  /// No mistakes.
  public init() {}

  /// The mistakes of a payload that `PayloadRules` accepts. App-defined bodies, and those whose every key is checked,
  /// have none.
  public init(_ facts: PayloadFacts, type: PushType) {
    switch type {
    case .alert: checkAlert(facts)
    case .background:
      note(facts.oddities, Self.everywhere)
      ofOtherTypes = Self.activityMembers(in: facts)
    case .liveactivity: note(facts.oddities, Self.ofActivities)
    default: break
    }
  }

  /// True if the payload has no mistake.
  @inline(__always)
  public var isEmpty: Bool {
    misspelled.bits | mistyped.bits | misplaced.bits | outside.bits | ofOtherTypes.bits
      | orphans.bits | UInt64(single) == 0
  }

  /// The mistakes, by rule.
  public var all: [PayloadWarning] {
    let sets: [(PayloadRule, PayloadMembers)] = [
      (.misspelledKey, misspelled), (.wrongType, mistyped), (.misplacedKey, misplaced),
      (.outsideAps, outside), (.otherType, ofOtherTypes), (.argumentsWithoutKey, orphans),
    ]
    var found = sets.flatMap { rule, set in set.members.map { PayloadWarning(rule, $0) } }
    for (rule, member) in Self.singles where has(rule) {
      found.append(PayloadWarning(rule, member))
    }
    return found
  }

  /// A JSON array of their codes, as in receipts: as many as fit.
  public var listText: String {
    var text = ""
    for warning in all {
      let more = "\(text.isEmpty ? "" : ",")\"\(warning.code)\""
      if text.utf8.count + more.utf8.count > Self.longestList - 2 { break }
      text += more
    }
    return "[\(text)]"
  }

  /// Checks that these bytes are a list in this form, of any rules: receipts contain it unchanged.
  public static func isList(_ text: Span<UInt8>) -> Bool {
    guard text.count > 2, text.count <= longestList, text[0] == UInt8(ascii: "["),
      text[text.count - 1] == UInt8(ascii: "]")
    else { return false }
    var isInside = false
    var length = 0
    for index in 1..<text.count - 1 {
      switch text[index] {
      case UInt8(ascii: "\""):
        // A quote opens after the bracket or a comma, and closes before a comma or the bracket.
        let isAtComma = text[index - 1] == UInt8(ascii: ",") || index == 1
        guard isInside ? length > 0 : isAtComma else { return false }
        isInside.toggle()
        length = 0
      case UInt8(ascii: ","):
        guard !isInside, text[index - 1] == UInt8(ascii: "\"") else { return false }
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
        UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: ":"):
        guard isInside else { return false }
        length += 1
      default: return false
      }
    }
    return !isInside && text[text.count - 2] == UInt8(ascii: "\"")
  }

  // MARK: Rules

  private static let singles: [(PayloadRule, PayloadMember)] = [
    (.emptyAlert, .alert), (.categoryWithoutAlert, .category),
    (.mutableContentWithoutText, .mutableContent), (.unknownLevel, .interruptionLevel),
    (.criticalWithoutSound, .interruptionLevel), (.scoreOutOfRange, .relevanceScore),
  ]

  /// The members that pushes of type `alert` have: those of `aps` up to `url-args`, and those of alert and sound.
  private static let ofAlerts = PayloadMembers(
    PayloadMember.alert.rawValue...PayloadMember.urlArguments.rawValue
  ).union(PayloadMembers(PayloadMember.title.rawValue...PayloadMember.volume.rawValue))
  /// The members that wake an app, and those shown beside them.
  private static let everywhere = PayloadMembers(
    .alert, .badge, .sound, .contentAvailable, .mutableContent)
  /// The members that Live Activities have.
  private static let ofActivities = PayloadMembers(
    PayloadMember.staleDate.rawValue...PayloadMember.inputPushChannel.rawValue
  ).union(PayloadMembers(PayloadMember.title.rawValue...PayloadMember.bodyArguments.rawValue))
    .union(PayloadMembers(.alert, .relevanceScore))

  private func has(_ rule: PayloadRule) -> Bool { single >> UInt16(rule.rawValue) & 1 != 0 }

  private mutating func note(_ rule: PayloadRule) { single |= 1 << UInt16(rule.rawValue) }

  @inline(__always)
  private mutating func note(_ oddities: PayloadOddities, _ members: PayloadMembers) {
    misspelled = oddities.misspelled.intersection(members)
    mistyped = oddities.mistyped.intersection(members)
    misplaced = oddities.misplaced.intersection(members)
    outside = oddities.outside.intersection(members)
  }

  private mutating func checkAlert(_ facts: PayloadFacts) {
    note(facts.oddities, Self.ofAlerts)
    mistyped = mistyped.union(facts.oddities.structured)
    ofOtherTypes = Self.activityMembers(in: facts)
    noteOrphans(facts.oddities.given)
    let alert = facts[.alert]
    if alert.isGiven && !facts.hasAlertText { note(.emptyAlert) }
    noteCategory(facts[.category], alert)
    let available = facts[.contentAvailable]
    if available.isGiven, available != .one, available != .zero {
      mistyped.insert(.contentAvailable)
    }
    let mutable = facts[.mutableContent]
    if mutable.isGiven, mutable != .zero {
      if mutable != .one {
        mistyped.insert(.mutableContent)
      } else if !facts.hasAlertText {
        note(.mutableContentWithoutText)
      }
    }
    if facts.hasOddLevel { note(.unknownLevel) }
    if facts.hasCriticalLevel, facts[.sound] != .object || facts[.soundCritical] != .one {
      note(.criticalWithoutSound)
    }
    let score = facts[.relevanceScore]
    if score.isGiven && !score.isShare { note(.scoreOutOfRange) }
  }

  private mutating func noteCategory(_ category: PayloadValue, _ alert: PayloadValue) {
    guard category.isGiven else { return }
    if !category.isText { mistyped.insert(.category) }
    if !alert.isGiven { note(.categoryWithoutAlert) }
  }

  @inline(__always)
  private mutating func noteOrphans(_ given: PayloadMembers) {
    noteOrphan(.titleArguments, .titleKey, given)
    noteOrphan(.subtitleArguments, .subtitleKey, given)
    noteOrphan(.bodyArguments, .bodyKey, given)
  }

  @inline(__always)
  private mutating func noteOrphan(
    _ arguments: PayloadMember, _ key: PayloadMember, _ given: PayloadMembers
  ) {
    if given.contains(arguments) && !given.contains(key) { orphans.insert(arguments) }
  }

  /// The members that only Live Activities, widgets and controls have.
  private static func activityMembers(in facts: PayloadFacts) -> PayloadMembers {
    var found = PayloadMembers()
    if facts[.contentState].isGiven { found.insert(.contentState) }
    if facts[.event].isGiven { found.insert(.event) }
    if facts[.contentChanged].isGiven { found.insert(.contentChanged) }
    if facts[.attributesType].isGiven { found.insert(.attributesType) }
    if facts[.staleDate].isGiven { found.insert(.staleDate) }
    if facts[.dismissalDate].isGiven { found.insert(.dismissalDate) }
    return found
  }
}
