// SPDX-License-Identifier: Apache-2.0

import APNS
import Testing

@Suite("The decision table")
struct DecisionTableTests {
  @Test("has one row for each reason, in the order of the cases")
  func rowsMatchCases() {
    #expect(ReasonRule.table.count == Reason.allCases.count)
    for reason in Reason.allCases {
      #expect(reason.rule.reason == reason)
    }
  }

  @Test("finds every reason by its name and no other text")
  func lookup() {
    for reason in Reason.allCases {
      #expect(Reason(reason.name) == reason)
      #expect(Reason(reason.name + "x") == nil)
      #expect(Reason(reason.name.lowercased()) == nil)
    }
    #expect(Reason("") == nil)
    #expect(Set(Reason.allCases.map(\.name)).count == Reason.allCases.count)
  }

  @Test("spells and classifies the device reasons as Apple documents them")
  func appendix() {
    let expected: [(String, UInt16, ReasonClass)] = [
      ("BadCollapseId", 400, .fix), ("BadDeviceToken", 400, .suspect),
      ("BadExpirationDate", 400, .fix), ("BadMessageId", 400, .fix), ("BadPriority", 400, .fix),
      ("BadTopic", 400, .fix), ("DeviceTokenNotForTopic", 400, .suspect),
      ("DuplicateHeaders", 400, .fix), ("IdleTimeout", 400, .move),
      ("InvalidPushType", 400, .fix), ("MissingDeviceToken", 400, .fix),
      ("MissingTopic", 400, .fix), ("PayloadEmpty", 400, .fix),
      ("TopicDisallowed", 400, .credential), ("BadCertificate", 403, .credential),
      ("BadCertificateEnvironment", 403, .credential),
      ("ExpiredProviderToken", 403, .reauthenticate), ("Forbidden", 403, .credential),
      ("InvalidProviderToken", 403, .credential), ("MissingProviderToken", 403, .fix),
      ("UnrelatedKeyIdInToken", 403, .reauthenticate),
      ("BadEnvironmentKeyIdInToken", 403, .credential),
      ("BadEnvironmentKeyInToken", 403, .credential), ("BadPath", 404, .fix),
      ("MethodNotAllowed", 405, .fix), ("ExpiredToken", 410, .token),
      ("Unregistered", 410, .token), ("PayloadTooLarge", 413, .fix),
      ("TooManyProviderTokenUpdates", 429, .later), ("TooManyRequests", 429, .later),
      ("InternalServerError", 500, .later), ("ServiceUnavailable", 503, .later),
      ("Shutdown", 503, .move),
    ]
    for (name, status, kind) in expected {
      let rule = Reason(name)?.rule
      #expect(rule?.status == status, "\(name)")
      #expect(rule?.kind == kind, "\(name)")
      #expect(rule?.origin.contains(.device) == true, "\(name)")
    }
    let device = ReasonRule.table.filter { $0.origin.contains(.device) }
    #expect(device.count == expected.count)
  }

  @Test(
    "decides about notification, connection and credential",
    arguments: [
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
      (.invalidProviderToken, .credentialRefused(retryOnce: true), .close, .stop),
      (.forbidden, .credentialRefused(retryOnce: false), .close, .stop),
      (.topicDisallowed, .credentialRefused(retryOnce: false), .keep, .none),
      (.tooManyProviderTokenUpdates, .retryLater(.soon), .drain, .freeze),
      (.tooManyRequests, .retryLater(.soon), .keep, .none),
      (.internalServerError, .retryLater(.quarterHour), .closeIfRepeated, .refreshIfOld),
      (.serviceUnavailable, .retryLater(.quarterHour), .keep, .none),
    ])
  func decisions(
    reason: Reason, verdict: Verdict, connection: ConnectionAction, credential: CredentialAction
  ) {
    let answer = GatewayResponse(status: reason.rule.status, reason: reason)
    #expect(answer.verdict == verdict)
    #expect(answer.connection == connection)
    #expect(answer.credential == credential)
  }

  @Test("judges an answer without a known reason by its status")
  func unknownReasons() {
    func verdict(_ status: UInt16) -> Verdict { GatewayResponse(status: status).verdict }
    #expect(verdict(200) == .delivered)
    #expect(verdict(400) == .rejected(aboutToken: false))
    #expect(verdict(403) == .rejected(aboutToken: false))
    #expect(verdict(410) == .rejected(aboutToken: true))
    #expect(verdict(429) == .retryLater(.soon))
    #expect(verdict(500) == .retryLater(.quarterHour))
    #expect(verdict(502) == .retryElsewhere)
    #expect(verdict(599) == .retryLater(.quarterHour))
    #expect(verdict(302) == .rejected(aboutToken: false))
    #expect(GatewayResponse(status: 418).alert == .notify)
    #expect(GatewayResponse(status: 500).connection == .closeIfRepeated)
  }

  @Test("takes an accepted push as accepted whatever its body says")
  func acceptedWins() {
    let answer = GatewayResponse(status: 200, reason: .badTopic)
    #expect(answer.verdict == .delivered)
    #expect(answer.connection == .keep)
    #expect(answer.alert == .none)
  }

  @Test("never declares a token dead for a mistake of configuration")
  func configurationMistakes() {
    for rule in ReasonRule.table where rule.kind == .fix || rule.kind == .credential {
      #expect(rule.verdict != .rejected(aboutToken: true), "\(rule.name)")
    }
  }
}
