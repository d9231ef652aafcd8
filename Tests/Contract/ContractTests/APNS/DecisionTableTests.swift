// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

@Suite struct DecisionTableTests {
  @Test func `the decision table has one row for each reason, in the order of the cases`() {
    #expect(ReasonRule.table.count == Reason.allCases.count)
    for reason in Reason.allCases { #expect(reason.rule.reason == reason) }
  }

  @Test func `the decision table finds every reason by its name and no other text`() {
    for reason in Reason.allCases {
      #expect(Reason(reason.name) == reason)
      #expect(Reason(reason.name + "x") == nil)
      #expect(Reason(reason.name.lowercased()) == nil)
    }
    #expect(Reason("") == nil)
    #expect(Set(Reason.allCases.map(\.name)).count == Reason.allCases.count)
  }

  /// Every reason that Apple documents or that was observed: name, status, where it is seen (D device push,
  /// B broadcast and channel management, G GOAWAY), and its class.
  static let documented: [(String, UInt16, String, ReasonClass)] = [
    ("BadCollapseId", 400, "D", .fix), ("BadDeviceToken", 400, "D", .suspect),
    ("BadExpirationDate", 400, "DB", .fix), ("BadMessageId", 400, "DB", .fix),
    ("BadPriority", 400, "DB", .fix), ("BadTopic", 400, "D", .configuration),
    ("DeviceTokenNotForTopic", 400, "D", .suspect), ("DuplicateHeaders", 400, "D", .fix),
    ("IdleTimeout", 400, "DG", .move), ("InvalidPushType", 400, "DB", .fix),
    ("MissingDeviceToken", 400, "D", .fix), ("MissingTopic", 400, "D", .fix),
    ("PayloadEmpty", 400, "DB", .fix), ("TopicDisallowed", 400, "DB", .configuration),
    ("BadCertificate", 403, "DBG", .credential),
    ("BadCertificateEnvironment", 403, "DBG", .credential),
    ("ExpiredProviderToken", 403, "DBG", .reauthenticate), ("Forbidden", 403, "D", .credential),
    ("InvalidProviderToken", 403, "DB", .credential),
    ("MissingProviderToken", 403, "DB", .credential),
    ("UnrelatedKeyIdInToken", 403, "D", .reauthenticate),
    ("BadEnvironmentKeyIdInToken", 403, "D", .credential),
    ("BadEnvironmentKeyInToken", 403, "D", .credential),
    ("TopicMismatch", 403, "B", .credential), ("BadPath", 404, "DB", .fix),
    ("MethodNotAllowed", 405, "DB", .fix), ("ExpiredToken", 410, "D", .token),
    ("Unregistered", 410, "D", .token), ("PayloadTooLarge", 413, "DB", .fix),
    ("TooManyProviderTokenUpdates", 429, "DB", .later), ("TooManyRequests", 429, "DB", .later),
    ("InternalServerError", 500, "DB", .later), ("ServiceUnavailable", 503, "DB", .later),
    ("Service Unavailable", 503, "B", .later), ("Shutdown", 503, "DBG", .move),
    ("FeatureNotEnabled", 400, "B", .configuration), ("MissingChannelId", 400, "B", .fix),
    ("BadChannelId", 400, "B", .fix), ("ChannelNotRegistered", 400, "B", .fix),
    ("BadRequestParams", 400, "B", .fix), ("BadRequestPayload", 400, "B", .fix),
    ("MissingPushType", 400, "B", .fix), ("CannotCreateChannelConfig", 400, "B", .configuration),
    ("MissingChannelQueueSize", 400, "B", .fix),
  ]

  @Test
  func
    `the decision table has every documented reason and no other, with its status, place and class`()
  {
    #expect(Self.documented.map(\.0).sorted() == Reason.allCases.map(\.name).sorted())
    for (name, status, places, kind) in Self.documented {
      guard let rule = Reason(name)?.rule else {
        Issue.record("\(name) has no row")
        continue
      }
      var origin: ReasonOrigin = []
      if places.contains("D") { origin.insert(.device) }
      if places.contains("B") { origin.insert(.broadcast) }
      if places.contains("G") { origin.insert(.goAway) }
      #expect(rule.status == status, "\(name)")
      #expect(rule.origin == origin, "\(name)")
      #expect(rule.kind == kind, "\(name)")
    }
  }

  @Test func `the decision table treats both spellings of a reason alike`() {
    for (one, other) in [
      (Reason.badEnvironmentKeyIdInToken, Reason.badEnvironmentKeyInToken),
      (.serviceUnavailable, .serviceUnavailableSpaced),
    ] {
      #expect(one.rule.status == other.rule.status)
      #expect(one.rule.kind == other.rule.kind)
      #expect(one.rule.verdict == other.rule.verdict)
      #expect(one.rule.connection == other.rule.connection)
      #expect(one.rule.credential == other.rule.credential)
    }
  }

  @Test(arguments: [
    (Reason.channelNotRegistered, Verdict.rejected(aboutToken: false)),
    (.badChannelId, .rejected(aboutToken: false)),
    (.missingChannelId, .rejected(aboutToken: false)),
    (.badRequestParams, .rejected(aboutToken: false)),
    (.badRequestPayload, .rejected(aboutToken: false)),
    (.missingPushType, .rejected(aboutToken: false)),
    (.missingChannelQueueSize, .rejected(aboutToken: false)),
    (.badExpirationDate, .rejected(aboutToken: false)),
    (.payloadTooLarge, .rejected(aboutToken: false)),
    (.featureNotEnabled, .rejected(aboutToken: false)),
    (.cannotCreateChannelConfig, .rejected(aboutToken: false)),
    (.topicMismatch, .credentialRefused),
    (.topicDisallowed, .rejected(aboutToken: false)),
    (.expiredProviderToken, .refreshToken),
    (.invalidProviderToken, .credentialRefused),
    (.tooManyRequests, .retryLater(.throttled)),
    (.internalServerError, .retryLater(.fault)),
    (.serviceUnavailableSpaced, .retryLater(.fault)),
    (.shutdown, .retryElsewhere),
  ])
  func `the decision table decides about broadcasts`(reason: Reason, verdict: Verdict) {
    let answer = GatewayResponse(status: reason.rule.status, reason: reason)
    #expect(answer.verdict(for: .channel) == verdict)
  }

  @Test
  func
    `the decision table says nothing about a device token when a broadcast was answered, whatever the answer`()
  {
    for status in UInt16(100)...599 {
      for reason in [nil] + Reason.allCases.map(Optional.some) {
        let answer = GatewayResponse(status: status, reason: reason)
        #expect(answer.verdict(for: .channel) != .rejected(aboutToken: true))
        if answer.verdict != .rejected(aboutToken: true) {
          #expect(answer.verdict(for: .channel) == answer.verdict)
        }
        #expect(answer.verdict(for: .device) == answer.verdict)
      }
    }
  }

  @Test(arguments: [
    (
      Reason.badDeviceToken, Verdict.rejected(aboutToken: true), ConnectionAction.keep,
      CredentialAction.none
    ),
    (.deviceTokenNotForTopic, .rejected(aboutToken: true), .keep, .none),
    (.unregistered, .rejected(aboutToken: true), .keep, .none),
    (.expiredToken, .rejected(aboutToken: true), .keep, .none),
    (.payloadTooLarge, .rejected(aboutToken: false), .keep, .none),
    (.idleTimeout, .retryElsewhere, .close, .none),
    (.shutdown, .retryElsewhere, .close, .none),
    (.expiredProviderToken, .refreshToken, .close, .refresh),
    (.unrelatedKeyIdInToken, .retryElsewhere, .drain, .none),
    (.invalidProviderToken, .credentialRefused, .drain, .stop),
    (.forbidden, .credentialRefused, .drain, .stop),
    (.topicDisallowed, .rejected(aboutToken: false), .keep, .none),
    (.tooManyProviderTokenUpdates, .retryElsewhere, .drain, .freeze),
    (.tooManyRequests, .retryLater(.throttled), .keep, .none),
    (.internalServerError, .retryLater(.fault), .closeIfRepeated, .none),
    (.serviceUnavailable, .retryLater(.fault), .keep, .none),
  ])
  func `the decision table decides about notification, connection and credential`(
    reason: Reason, verdict: Verdict, connection: ConnectionAction, credential: CredentialAction
  ) {
    let answer = GatewayResponse(status: reason.rule.status, reason: reason)
    #expect(answer.verdict == verdict)
    #expect(answer.connection == connection)
    #expect(answer.credential == credential)
  }

  @Test func `the decision table judges an answer with an unknown reason by its status`() {
    func answer(_ status: UInt16) -> GatewayResponse {
      GatewayResponse(status: status, body: .otherReason)
    }
    func verdict(_ status: UInt16) -> Verdict { answer(status).verdict }
    #expect(verdict(200) == .delivered)
    #expect(verdict(400) == .rejected(aboutToken: false))
    #expect(verdict(403) == .credentialRefused)
    #expect(verdict(404) == .rejected(aboutToken: false))
    #expect(verdict(410) == .rejected(aboutToken: true))
    #expect(verdict(429) == .retryLater(.throttled))
    #expect(verdict(500) == .retryLater(.fault))
    #expect(verdict(502) == .retryElsewhere)
    #expect(verdict(599) == .retryLater(.fault))
    #expect(answer(500).connection == .closeIfRepeated)
  }

  @Test func `the decision table takes an accepted push as accepted whatever its body says`() {
    let answer = GatewayResponse(status: 200, reason: .badTopic)
    #expect(answer.verdict == .delivered)
    #expect(answer.connection == .keep)
  }

  @Test func `the decision table never declares a token dead for a mistake of configuration`() {
    for rule in ReasonRule.table where rule.subject != .token {
      #expect(rule.verdict != .rejected(aboutToken: true), "\(rule.name)")
    }
  }

  @Test
  func
    `an answer about a credential is never the end of a push, whatever its words and its spelling`()
  {
    for rule in ReasonRule.table {
      let answer = GatewayResponse(status: rule.status, reason: rule.reason)
      let isAboutCredential = rule.status == 403 || rule.reason == .tooManyProviderTokenUpdates
      #expect(answer.isAboutCredential == isAboutCredential, "\(rule.name)")
      #expect((rule.subject == .credential) == isAboutCredential, "\(rule.name)")
      for target in [PushTarget.device, .channel] where isAboutCredential {
        switch answer.verdict(for: target) {
        case .credentialRefused, .refreshToken, .retryElsewhere: break
        default: Issue.record("\(rule.name) ends a push")
        }
      }
    }
    let unknown = GatewayResponse(status: 403, body: .otherReason)
    #expect(unknown.isAboutCredential && unknown.verdict == .credentialRefused)
    #expect(unknown.credential == .stop && unknown.connection == .drain)
    // What is not of APNs says nothing about a credential.
    for answer in [
      GatewayResponse(status: 403, body: .nothing),
      GatewayResponse(status: 403, body: .otherReason, id: .none),
      GatewayResponse(status: 403, body: .otherReason, id: .other),
    ] {
      #expect(!answer.isAboutCredential && answer.verdict == .foreign && answer.credential == .none)
    }
    for status in [400, 401, 404, 405, 410, 413, 429, 500, 503] as [UInt16] {
      #expect(!GatewayResponse(status: status, body: .otherReason).isAboutCredential)
    }
  }

  @Test
  func `only what the device refuses takes the id of a push; all else can be sent again under it`()
  {
    for rule in ReasonRule.table {
      let answer = GatewayResponse(status: rule.status, reason: rule.reason)
      let isOfDevice = rule.reason == .unregistered || rule.reason == .expiredToken
      #expect(answer.takesID == isOfDevice, "\(rule.name)")
      #expect(rule.takesID == isOfDevice, "\(rule.name)")
    }
    #expect(GatewayResponse(status: 200).takesID)
    #expect(GatewayResponse(status: 410, body: .otherReason).takesID)
    #expect(!GatewayResponse(status: 418, body: .otherReason).takesID)
  }
}
