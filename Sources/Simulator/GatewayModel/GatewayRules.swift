// SPDX-License-Identifier: Apache-2.0
public import Contract
import Settings

/// The current values of the gateway's behaviours.
public struct GatewayRules: Sendable, Equatable {
  public enum PrimingEnd: String, Sendable, CaseIterable { case success, authenticated }
  public enum Throttle: String, Sendable, CaseIterable { case aggressive, gradual, off }
  public enum IdleEnd: String, Sendable, CaseIterable {
    case goAway = "goaway"
    case silent
  }
  public enum GoAwayForm: String, Sendable, CaseIterable { case json, text, twice }
  public enum TokenUpdateRule: String, Sendable, CaseIterable { case wedge, token, blackhole, off }
  public enum TokenUpdateScope: String, Sendable, CaseIterable { case connection, team, address }
  public enum ExpiredToken: String, Sendable, CaseIterable { case wedge, answer }
  public enum TokenClock: String, Sendable, CaseIterable { case gateway, machine }
  public enum Form: String, Sendable, CaseIterable { case lenient, strict }
  public enum BadCertificate: String, Sendable, CaseIterable {
    case goAway = "goaway"
    case status, alert
  }
  public enum IdentifierCase: String, Sendable, CaseIterable { case upper, lower }
  public enum DatedAnswers: String, Sendable, CaseIterable { case none, errors, always }
  public enum ContentType: String, Sendable, CaseIterable { case none, json }
  public enum SettingsOrder: String, Sendable, CaseIterable { case after, before }
  public enum StreamAboveLimit: String, Sendable, CaseIterable {
    case reset
    case goAway = "goaway"
  }
  public enum StoredNotifications: String, Sendable, CaseIterable {
    case one
    case perCollapseID = "per-collapse-id"
  }
  public enum AbsentExpiration: String, Sendable, CaseIterable { case policy, once }
  public enum GoneLiveActivity: String, Sendable, CaseIterable {
    case declared
    case expiredToken = "ExpiredToken"
  }
  public enum JSONCheck: String, Sendable, CaseIterable { case off, lenient, strict }

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
    guard let behaviour = Behaviour.table.first(where: { $0.name == name }),
      let access = behaviour.access
    else { throw BehaviourError(name: name, problem: "there is no such behaviour") }
    switch behaviour.kind {
    case .boolean:
      guard value == "true" || value == "false" else {
        throw BehaviourError(name: name, problem: "must be true or false, not \(value)")
      }
    case .choice(let words):
      guard words.contains(value) else {
        let list = words.joined(separator: ", ")
        throw BehaviourError(name: name, problem: "must be one of \(list), not \(value)")
      }
    case .count(let range):
      guard let number = Int(value), range.contains(number) else {
        throw BehaviourError(
          name: name,
          problem: "must be a number from \(range.lowerBound) to \(range.upperBound), not \(value)")
      }
    case .duration(let range):
      guard let time = DurationText.milliseconds(of: value), range.contains(time) else {
        throw BehaviourError(name: name, problem: "must be a time such as 20m, not \(value)")
      }
    case .list, .fixed: break
    }
    try access.write(&self, value)
  }

  /// The value of a behaviour as an operator writes it; nil if it is not switchable.
  public func text(of name: String) -> String? {
    Behaviour.table.first { $0.name == name }?.access?.read(self)
  }
}
