// SPDX-License-Identifier: Apache-2.0

/// The fault in a member of a payload.
public enum PayloadProblem: Equatable, Sendable {
  case missing(for: PushType)
  /// Not the required value, which is described in words: `the number 1`.
  case mustBe(String, for: PushType)
  case notAllowed(for: PushType)
  /// Required, and given under a name that differs only by case, hyphens and underscores.
  case misspelled(PayloadMember, for: PushType)
  /// An alert that shows nothing and makes no sound.
  case showsNothing
  /// The same, with a key that only these types have: the type is missing or wrong.
  case isOfType([PushType], PayloadMember?)
  /// Something that only the start of a Live Activity may carry.
  case onlyOnStart
  /// Both `input-push-token` and `input-push-channel`.
  case onlyOneOfBoth
  /// A broadcast cannot start a Live Activity.
  case startByBroadcast
  /// An MDM payload has no other member.
  case mustStandAlone
  /// A time that is most likely in milliseconds.
  case notSeconds

  public var words: String {
    switch self {
    case .missing(let type): "is required for \(type.phrase)"
    case .mustBe(let what, let type): "must be \(what) for \(type.phrase)"
    case .notAllowed(let type): "is not allowed for \(type.phrase)"
    case .misspelled(let member, let type):
      "is required for \(type.phrase); the key there is spelled in another way: write \"\(member.key)\""
    case .showsNothing: "has none of alert, badge and sound, so type alert has nothing to show"
    case .isOfType(let types, let member): Self.wordsOfType(types, member)
    case .onlyOnStart: "is only allowed with event start"
    case .onlyOneOfBoth: "cannot be combined with input-push-token"
    case .startByBroadcast: "must be update or end on a channel; a broadcast starts no activity"
    case .notSeconds: "is too large for epoch seconds; milliseconds? seconds are expected"
    case .mustStandAlone: "must be the only member of the payload for type mdm"
    }
  }

  private static func wordsOfType(_ types: [PushType], _ member: PayloadMember?) -> String {
    let names = types.map { "\"type\":\"\($0)\"" }.joined(separator: " or ")
    let key = member?.key ?? "mdm"
    return
      "has none of alert, badge and sound, so type alert, which requests have without a type, has nothing to show;"
      + " with \(key) it is another push: add \(names) to the request"
  }
}

/// The rules of payloads, by push type. A payload that APNs refuses or drops, or that the device silently drops, is
/// refused here; a mistake without other effect is one of `PayloadWarnings`. Keys without a rule are free.
///
/// Sources: Apple, "Generating a remote notification", "Pushing background updates to your App",
/// "Starting and updating Live Activities with ActivityKit push notifications", "Updating widgets with
/// WidgetKit push notifications", "Publishing remote media sessions".
public enum PayloadRules {
  /// Checks a payload against its push type.
  ///
  /// - Parameters:
  ///   - isBroadcast: whether it goes to a channel.
  ///   - isPass: whether the app is a Wallet pass type (`pass.…`), whose pushes have nothing to show.
  public static func check(
    _ facts: PayloadFacts, type: PushType, isBroadcast: Bool = false, isPass: Bool = false
  ) throws(RequestError) {
    switch type {
    case .alert: try checkAlert(facts, isPass)
    case .background: try checkBackground(facts)
    case .liveactivity: try checkLiveActivity(facts, isBroadcast)
    case .widgets, .controls: try checkContentChanged(facts, type)
    case .nowplaying: try checkMediaSession(facts)
    case .mdm: try checkDeviceManagement(facts)
    // The body is the app's own; an `aps` in it may be empty but must be an object.
    case .location, .voip, .complication, .fileprovider, .pushtotalk, .custom:
      if facts[.aps].isGiven { try require(facts, .aps, .object, "an object", type) }
    }
  }

  // MARK: Types

  private static func checkAlert(_ facts: PayloadFacts, _ isPass: Bool) throws(RequestError) {
    if isPass && !facts[.aps].isGiven { return }
    if !facts[.aps].isGiven, facts[.mdm].isGiven {
      throw RequestError(.aps, .isOfType([.mdm], nil))
    }
    try require(facts, .aps, .object, "an object", .alert)
    try checkAlertValue(facts, .alert)
    if facts[.badge].isGiven && !facts[.badge].isCount {
      throw RequestError(.badge, .mustBe("a whole number from 0 up", for: .alert))
    }
    try checkSound(facts)
    let shows = facts[.alert].isGiven || facts[.badge].isGiven || facts[.sound].isGiven
    guard shows || isPass else { throw RequestError(.aps, otherType(facts) ?? .showsNothing) }
  }

  /// The most likely type of a payload that shows nothing; nil if no key indicates one.
  private static func otherType(_ facts: PayloadFacts) -> PayloadProblem? {
    let misspelled = facts.oddities.misspelled
    if facts[.contentState].isGiven || facts[.event].isGiven {
      let isSession = facts[.attributesID].isGiven && !facts[.contentState].isGiven
      return .isOfType(
        isSession ? [.nowplaying] : [.liveactivity],
        facts[.contentState].isGiven ? .contentState : .event)
    }
    if facts[.contentChanged].isGiven { return .isOfType([.widgets, .controls], .contentChanged) }
    if facts[.contentAvailable].isGiven || misspelled.contains(.contentAvailable) {
      return .isOfType([.background], .contentAvailable)
    }
    return nil
  }

  private static func checkBackground(_ facts: PayloadFacts) throws(RequestError) {
    try require(facts, .aps, .object, "an object", .background)
    try require(facts, .contentAvailable, .one, "the number 1", .background)
    for key in [PayloadKey.alert, .badge, .sound] where facts[key].isGiven {
      throw RequestError(key, .notAllowed(for: .background))
    }
  }

  private static func checkLiveActivity(
    _ facts: PayloadFacts, _ isBroadcast: Bool
  ) throws(RequestError) {
    let type = PushType.liveactivity
    let event = try checkEvent(facts, type)
    if event == .start && isBroadcast { throw RequestError(.event, .startByBroadcast) }
    // Recommended with `end`, where the last shown state may stay.
    if event != .end || facts[.contentState].isGiven {
      try require(facts, .contentState, .object, "an object", type)
    }
    try checkAlertValue(facts, type)
    try checkTime(facts, .staleDate, type)
    try checkTime(facts, .dismissalDate, type)
    if facts[.relevanceScore].isGiven && !facts[.relevanceScore].isNumber {
      throw RequestError(.relevanceScore, .mustBe("a number", for: type))
    }
    try event == .start ? checkStart(facts) : checkNoStart(facts)
  }

  private static func checkEvent(
    _ facts: PayloadFacts, _ type: PushType
  ) throws(RequestError) -> PayloadValue {
    try require(facts, .aps, .object, "an object", type)
    try checkTime(facts, .timestamp, type)
    guard facts[.timestamp].isGiven else { throw missing(facts, .timestamp, type) }
    let event = facts[.event]
    guard event.isGiven else { throw missing(facts, .event, type) }
    guard event == .start || event == .update || event == .end else {
      throw RequestError(.event, .mustBe("start, update or end", for: type))
    }
    return event
  }

  /// The session's attributes identify it; its end needs no other attributes.
  private static func checkMediaSession(_ facts: PayloadFacts) throws(RequestError) {
    let type = PushType.nowplaying
    _ = try checkEvent(facts, type)
    try require(facts, .attributes, .object, "an object", type)
    let id = facts[.attributesID]
    guard id.isGiven else { throw RequestError(.attributesID, .missing(for: type)) }
    guard id.isText else { throw RequestError(.attributesID, .mustBe("a string", for: type)) }
  }

  private static func checkStart(_ facts: PayloadFacts) throws(RequestError) {
    let type = PushType.liveactivity
    guard facts[.alert].isGiven else { throw missing(facts, .alert, type) }
    guard facts[.attributesType].isGiven else { throw missing(facts, .attributesType, type) }
    guard facts[.attributesType].isText else {
      throw RequestError(.attributesType, .mustBe("a string", for: type))
    }
    try require(facts, .attributes, .object, "an object", type)
    let hasToken = facts[.inputPushToken].isGiven
    let hasChannel = facts[.inputPushChannel].isGiven
    if hasToken && hasChannel { throw RequestError(.inputPushChannel, .onlyOneOfBoth) }
    if hasToken { try require(facts, .inputPushToken, .one, "the number 1", type) }
    if hasChannel && !facts[.inputPushChannel].isText {
      throw RequestError(.inputPushChannel, .mustBe("a string", for: type))
    }
  }

  private static func checkNoStart(_ facts: PayloadFacts) throws(RequestError) {
    for key in [PayloadKey.inputPushToken, .inputPushChannel] where facts[key].isGiven {
      throw RequestError(key, .onlyOnStart)
    }
  }

  private static func checkContentChanged(
    _ facts: PayloadFacts, _ type: PushType
  ) throws(RequestError) {
    try require(facts, .aps, .object, "an object", type)
    try require(facts, .contentChanged, .yes, "true", type)
  }

  private static func checkDeviceManagement(_ facts: PayloadFacts) throws(RequestError) {
    guard facts[.mdm].isGiven else { throw RequestError(.mdm, .missing(for: .mdm)) }
    guard facts[.mdm].isText else { throw RequestError(.mdm, .mustBe("a string", for: .mdm)) }
    guard facts.members == 1 else { throw RequestError(.mdm, .mustStandAlone) }
  }

  // MARK: Values

  private static func require(
    _ facts: PayloadFacts, _ key: PayloadKey, _ value: PayloadValue, _ words: String,
    _ type: PushType
  ) throws(RequestError) {
    guard facts[key] != value else { return }
    if facts[key].isGiven { throw RequestError(key, .mustBe(words, for: type)) }
    throw missing(facts, key, type)
  }

  /// The error for a missing or misspelled member.
  private static func missing(
    _ facts: PayloadFacts, _ key: PayloadKey, _ type: PushType
  ) -> RequestError {
    if let member = key.member, facts.oddities.misspelled.contains(member) {
      return RequestError(key, .misspelled(member, for: type))
    }
    return RequestError(key, .missing(for: type))
  }

  private static func checkAlertValue(
    _ facts: PayloadFacts, _ type: PushType
  ) throws(RequestError) {
    let alert = facts[.alert]
    guard !alert.isGiven || alert.isText || alert == .object else {
      throw RequestError(.alert, .mustBe("a string or an object", for: type))
    }
  }

  /// Checks that a sound is a file name, or an object for a critical alert.
  private static func checkSound(_ facts: PayloadFacts) throws(RequestError) {
    let sound = facts[.sound]
    guard sound.isGiven, !sound.isText else { return }
    guard sound == .object else {
      throw RequestError(
        .sound, .mustBe("a string, or an object for a critical alert", for: .alert))
    }
    let critical = facts[.soundCritical]
    guard critical == .zero || critical == .one else {
      throw RequestError(
        .soundCritical, critical.isGiven ? .mustBe("0 or 1", for: .alert) : .missing(for: .alert))
    }
    if facts[.soundName].isGiven && !facts[.soundName].isText {
      throw RequestError(.soundName, .mustBe("a string", for: .alert))
    }
    let volume = facts[.soundVolume]
    guard !volume.isGiven || volume.isShare else {
      throw RequestError(.soundVolume, .mustBe("a number from 0 to 1", for: .alert))
    }
  }

  /// Checks epoch seconds, with or without a fraction.
  private static func checkTime(
    _ facts: PayloadFacts, _ key: PayloadKey, _ type: PushType
  ) throws(RequestError) {
    let time = facts[key]
    guard !time.isGiven || time.isNumber && time != .negative else {
      throw RequestError(key, .mustBe("a time in epoch seconds", for: type))
    }
    if facts.isLate(key) { throw RequestError(key, .notSeconds) }
  }
}

extension RequestError {
  init(_ key: PayloadKey, _ problem: PayloadProblem) { self.init(.payload, .payload(key, problem)) }
}

extension PayloadKey {
  /// The corresponding member that devices read, where it is required.
  fileprivate var member: PayloadMember? {
    switch self {
    case .contentAvailable: .contentAvailable
    case .contentChanged: .contentChanged
    case .contentState: .contentState
    case .timestamp: .timestamp
    case .event: .event
    case .attributesType: .attributesType
    case .attributes: .attributes
    case .alert: .alert
    default: nil
    }
  }
}
