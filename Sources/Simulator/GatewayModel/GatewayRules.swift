// SPDX-License-Identifier: Apache-2.0
public import APNS
import Settings

/// The current values of the gateway's behaviours.
public struct GatewayRules: Sendable, Equatable {
  public enum PrimingEnd: String, Sendable { case success, authenticated }
  public enum Throttle: String, Sendable { case aggressive, gradual, off }
  public enum IdleEnd: String, Sendable {
    case goAway = "goaway"
    case silent
  }
  public enum GoAwayForm: String, Sendable { case json, text, twice }
  public enum TokenUpdateRule: String, Sendable { case wedge, token, blackhole, off }
  public enum TokenUpdateScope: String, Sendable { case connection, team, address }
  public enum ExpiredToken: String, Sendable { case wedge, answer }
  public enum TokenClock: String, Sendable { case gateway, machine }
  public enum Form: String, Sendable { case lenient, strict }
  public enum BadCertificate: String, Sendable {
    case goAway = "goaway"
    case status, alert
  }
  public enum IdentifierCase: String, Sendable { case upper, lower }
  public enum DatedAnswers: String, Sendable { case none, errors, always }
  public enum ContentType: String, Sendable { case none, json }
  public enum SettingsOrder: String, Sendable { case after, before }
  public enum StreamAboveLimit: String, Sendable {
    case reset
    case goAway = "goaway"
  }
  public enum StoredNotifications: String, Sendable {
    case one
    case perCollapseID = "per-collapse-id"
  }
  public enum AbsentExpiration: String, Sendable { case policy, once }
  public enum GoneLiveActivity: String, Sendable {
    case declared
    case expiredToken = "ExpiredToken"
  }
  public enum JSONCheck: String, Sendable { case off, lenient, strict }

  public var maxConcurrentStreams: UInt32 = 1_000
  public var primes = true
  public var primingEnds = PrimingEnd.success
  public var throttle = Throttle.aggressive
  public var errorLimit = 1_000
  public var badTokenWeight = 5
  /// Milliseconds; 0 for never.
  public var idleTimeout: Int64 = 3_600_000
  public var idleEnd = IdleEnd.goAway
  public var goAwayForm = GoAwayForm.json
  public var settingsOrder = SettingsOrder.after
  public var streamAboveLimit = StreamAboveLimit.reset
  public var connectionRate = 0
  /// Requests per second; 0 for no limit.
  public var capacity = 0
  public var queue = 100_000
  public var tokenUpdateRule = TokenUpdateRule.wedge
  /// Milliseconds.
  public var tokenUpdateInterval: Int64 = 1_200_000
  public var tokenUpdateScope = TokenUpdateScope.connection
  public var expiredToken = ExpiredToken.wedge
  public var tokenClock = TokenClock.gateway
  public var providerTokenForm = Form.lenient
  /// The `SignedToken.identity` of provider tokens treated as expired, however old they are.
  public var expiredTokens: Set<UInt64> = []
  public var bindsKeys = true
  public var revokedKey = Reason.forbidden
  public var keyEnvironmentReason = Reason.badEnvironmentKeyIdInToken
  public var foreignTopic = Reason.topicDisallowed
  public var snapshotsTopics = true
  public var badCertificate = BadCertificate.goAway
  public var certificateTopic = Reason.badTopic
  public var checks = PushCheck.standardOrder
  public var identifierForm = Form.lenient
  public var madeIdentifier = IdentifierCase.upper
  public var jsonCheck = JSONCheck.lenient
  public var contentType = ContentType.none
  public var datedAnswers = DatedAnswers.none
  public var tokenRate = 0
  public var acceptsUnknownTokens = true
  /// The minimum number of digits of an undeclared device token.
  public var shortestDeviceToken = 64
  public var storedNotifications = StoredNotifications.one
  public var absentExpiration = AbsentExpiration.policy
  public var goneLiveActivity = GoneLiveActivity.declared
  public var storeKeepsOlder = 0
  /// Background pushes that a device accepts per app and hour; 0 for no limit.
  public var backgroundBudget = 0
  /// Live Activity updates with priority 10 that a device accepts per hour; 0 for no limit.
  public var liveActivityBudget = 0
  /// Live Activities that pushes can start on a device per hour; 0 for no limit.
  public var pushToStartBudget = 0
  /// Milliseconds after which the system ends a Live Activity; 0 for never.
  public var activityLifetime: Int64 = 28_800_000
  /// Milliseconds from the removal of an app to the first 410.
  public var goneDelay: Int64 = 0
  public var channelLimit = 10_000
  public var pushTypes = PushTypes.builtIn

  public init() {}
}

extension GatewayRules {
  /// Sets a behaviour by name; the value is as an operator writes it.
  public mutating func set(_ name: String, _ value: String) throws(BehaviourError) {
    guard let behaviour = Behaviour.table.first(where: { $0.name == name && $0.isSwitch }) else {
      throw BehaviourError(name: name, problem: "there is no such behaviour")
    }
    switch behaviour.kind {
    case .boolean:
      guard value == "true" || value == "false" else {
        throw BehaviourError(name: name, problem: "must be true or false, not \(value)")
      }
      set(name, flag: value == "true")
    case .choice(let words):
      guard words.contains(value) else {
        let list = words.joined(separator: ", ")
        throw BehaviourError(name: name, problem: "must be one of \(list), not \(value)")
      }
      set(name, word: value)
    case .count(let range):
      guard let number = Int(value), range.contains(number) else {
        throw BehaviourError(
          name: name,
          problem: "must be a number from \(range.lowerBound) to \(range.upperBound), not \(value)")
      }
      set(name, number: number)
    case .duration(let range):
      guard let time = DurationText.milliseconds(of: value), range.contains(time) else {
        throw BehaviourError(name: name, problem: "must be a time such as 20m, not \(value)")
      }
      set(name, time: time)
    case .list: checks = try PushCheck.order(value)
    case .fixed: break
    }
  }

  private mutating func set(_ name: String, time: Int64) {
    switch name {
    case "idle-timeout": idleTimeout = time
    case "activity-lifetime": activityLifetime = time
    case "gone-delay": goneDelay = time
    default: tokenUpdateInterval = time
    }
  }

  private mutating func set(_ name: String, flag: Bool) {
    switch name {
    case "priming": primes = flag
    case "key-binding": bindsKeys = flag
    default: snapshotsTopics = flag
    }
  }

  private mutating func set(_ name: String, number: Int) {
    switch name {
    case "max-concurrent-streams": maxConcurrentStreams = UInt32(number)
    case "error-limit": errorLimit = number
    case "bad-token-weight": badTokenWeight = number
    case "connection-rate": connectionRate = number
    case "capacity": capacity = number
    case "queue": queue = number
    case "token-rate": tokenRate = number
    case "shortest-device-token": shortestDeviceToken = number
    case "store-keeps-older": storeKeepsOlder = number
    case "background-budget": backgroundBudget = number
    case "live-activity-budget": liveActivityBudget = number
    case "push-to-start-budget": pushToStartBudget = number
    default: channelLimit = number
    }
  }

  /// The table has already validated the word.
  private mutating func set(_ name: String, word: String) {
    switch name {
    case "priming-ends": Self.parse(word, &primingEnds)
    case "throttle": Self.parse(word, &throttle)
    case "idle-end": Self.parse(word, &idleEnd)
    case "goaway-form": Self.parse(word, &goAwayForm)
    case "token-update-rule": Self.parse(word, &tokenUpdateRule)
    case "token-update-scope": Self.parse(word, &tokenUpdateScope)
    case "expired-token": Self.parse(word, &expiredToken)
    case "provider-token-clock": Self.parse(word, &tokenClock)
    case "provider-token-form": Self.parse(word, &providerTokenForm)
    case "bad-certificate": Self.parse(word, &badCertificate)
    case "apns-id-form": Self.parse(word, &identifierForm)
    case "made-apns-id": Self.parse(word, &madeIdentifier)
    case "json-check": Self.parse(word, &jsonCheck)
    case "settings-order": Self.parse(word, &settingsOrder)
    case "stream-above-limit": Self.parse(word, &streamAboveLimit)
    case "content-type": Self.parse(word, &contentType)
    case "stored-notifications": Self.parse(word, &storedNotifications)
    case "absent-expiration": Self.parse(word, &absentExpiration)
    case "gone-liveactivity": Self.parse(word, &goneLiveActivity)
    case "date": Self.parse(word, &datedAnswers)
    case "revoked-key": Self.parse(word, &revokedKey)
    case "key-environment-reason": Self.parse(word, &keyEnvironmentReason)
    case "foreign-topic": Self.parse(word, &foreignTopic)
    case "certificate-topic": Self.parse(word, &certificateTopic)
    default: acceptsUnknownTokens = word == "auto"
    }
  }

  private static func parse<Word: RawRepresentable<String>>(_ text: String, _ word: inout Word) {
    if let read = Word(rawValue: text) { word = read }
  }

  private static func parse(_ text: String, _ reason: inout Reason) {
    if let read = Reason(text) { reason = read }
  }

  /// The value of a behaviour as an operator writes it; nil if it is not switchable.
  public func text(of name: String) -> String? {
    switch name {
    case "max-concurrent-streams": "\(maxConcurrentStreams)"
    case "priming": "\(primes)"
    case "error-limit": "\(errorLimit)"
    case "bad-token-weight": "\(badTokenWeight)"
    case "idle-timeout": DurationText.text(milliseconds: idleTimeout)
    case "connection-rate": "\(connectionRate)"
    case "capacity": "\(capacity)"
    case "queue": "\(queue)"
    case "token-update-interval": DurationText.text(milliseconds: tokenUpdateInterval)
    case "key-binding": "\(bindsKeys)"
    case "topic-snapshot": "\(snapshotsTopics)"
    case "checks": PushCheck.text(checks)
    case "token-rate": "\(tokenRate)"
    case "shortest-device-token": "\(shortestDeviceToken)"
    case "store-keeps-older": "\(storeKeepsOlder)"
    case "background-budget": "\(backgroundBudget)"
    case "live-activity-budget": "\(liveActivityBudget)"
    case "push-to-start-budget": "\(pushToStartBudget)"
    case "activity-lifetime": DurationText.text(milliseconds: activityLifetime)
    case "gone-delay": DurationText.text(milliseconds: goneDelay)
    case "channel-limit": "\(channelLimit)"
    default: word(of: name)
    }
  }

  private func word(of name: String) -> String? {
    switch name {
    case "priming-ends": primingEnds.rawValue
    case "throttle": throttle.rawValue
    case "idle-end": idleEnd.rawValue
    case "goaway-form": goAwayForm.rawValue
    case "token-update-rule": tokenUpdateRule.rawValue
    case "token-update-scope": tokenUpdateScope.rawValue
    case "expired-token": expiredToken.rawValue
    case "provider-token-clock": tokenClock.rawValue
    case "provider-token-form": providerTokenForm.rawValue
    case "bad-certificate": badCertificate.rawValue
    case "apns-id-form": identifierForm.rawValue
    case "made-apns-id": madeIdentifier.rawValue
    case "json-check": jsonCheck.rawValue
    case "settings-order": settingsOrder.rawValue
    case "stream-above-limit": streamAboveLimit.rawValue
    case "content-type": contentType.rawValue
    case "stored-notifications": storedNotifications.rawValue
    case "absent-expiration": absentExpiration.rawValue
    case "gone-liveactivity": goneLiveActivity.rawValue
    case "date": datedAnswers.rawValue
    case "revoked-key": revokedKey.name
    case "key-environment-reason": keyEnvironmentReason.name
    case "foreign-topic": foreignTopic.name
    case "certificate-topic": certificateTopic.name
    case "registry": acceptsUnknownTokens ? "auto" : "declared"
    default: nil
    }
  }
}
