// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import Testing

/// Every reason that APNs documents for pushes, broadcasts and channels is given by the gateway, and by
/// a cause that would bring it about in reality.
@Suite struct ReasonCauseTests {
  @Test(arguments: Reason.allCases)
  func `every reason has a cause`(reason: Reason) throws {
    let stage = try Stage()
    let answer = try stage.provoke(reason)
    let name = try JSONDocument(answer.body).root["reason"]?.string
    #expect(name == reason.name)
    // IdleTimeout comes in a GOAWAY, which has no status.
    #expect(answer.status == (reason == .idleTimeout ? 0 : reason.rule.status))
  }
}

/// A gateway, a client, and how to bring each reason about.
private final class Stage {
  typealias Answer = GatewayClient.Answer

  private let gateway: RunningGateway
  private static let app = "com.example.app"
  private static let channel = "QUJDREVGR0hJSktMTU5PUA=="

  init() throws { gateway = try RunningGateway() }

  /// One header that is wrong or absent.
  private static let headers: [Reason: (name: String, value: String?)] = [
    .badCollapseId: ("apns-collapse-id", String(repeating: "c", count: 65)),
    .badDeviceToken: (":path", "/3/device/xy"),
    .badExpirationDate: ("apns-expiration", "tomorrow"),
    .badMessageId: ("apns-id", "x"),
    .badPath: (":path", "/"),
    .badPriority: ("apns-priority", "7"),
    .badTopic: ("apns-topic", "a b"),
    .invalidProviderToken: ("authorization", "bearer x"),
    .invalidPushType: ("apns-push-type", "fancy"),
    .methodNotAllowed: (":method", "PUT"),
    .missingDeviceToken: (":path", "/3/device/"),
    .missingProviderToken: ("authorization", nil),
    .missingTopic: ("apns-topic", nil),
  ]

  func provoke(_ reason: Reason) throws -> Answer {
    if let (name, value) = Self.headers[reason] {
      return try GatewayClient(gateway).send { $0.with(name, value) }
    }
    switch reason {
    case .duplicateHeaders:
      return try GatewayClient(gateway).send { $0.adding("apns-priority", "10") }
    case .payloadEmpty: return try GatewayClient(gateway).send { $0.withBody(0) }
    case .payloadTooLarge: return try GatewayClient(gateway).send { $0.withBody(4_097) }
    case .idleTimeout: return try idle()
    case .badCertificate, .badCertificateEnvironment: return try badCertificate(reason)
    case .unregistered, .expiredToken, .deviceTokenNotForTopic: return try device(reason)
    case .internalServerError, .serviceUnavailable, .shutdown: return try service(reason)
    case .serviceUnavailableSpaced:
      try gateway.set("service", "unavailable")
      return try broadcast { $0 }
    case .tooManyRequests:
      try gateway.set("token-rate", "1")
      let client = try GatewayClient(gateway)
      return try (0..<20).map { _ in try client.send { $0 } }.last(where: { $0.status != 200 })
        ?? client.send { $0 }
    default:
      if reason.rule.origin.contains(.broadcast), !reason.rule.origin.contains(.device) {
        return try channels(reason)
      }
      return try key(reason)
    }
  }

  private func idle() throws -> Answer {
    let client = try GatewayClient(gateway)
    _ = try gateway.admin("POST", "/clock/advance", #"{"by":"2h"}"#)
    try client.wait { client.connection.isClosed }
    return Answer(status: 0, body: client.farewells.first ?? "", hasUniqueID: false)
  }

  private func badCertificate(_ reason: Reason) throws -> Answer {
    try gateway.set("bad-certificate", "status")
    let issued = try gateway.authority.issueClient(
      bundleID: Self.app, forProduction: reason == .badCertificate,
      validity: reason == .badCertificate ? .expired : .years(1))
    return try GatewayClient(gateway, showing: issued).send { $0 }
  }

  private func device(_ reason: Reason) throws -> Answer {
    let token = String(repeating: "0a", count: 32)
    switch reason {
    case .unregistered: _ = try gateway.admin("POST", "/tokens/\(token)/uninstall")
    case .expiredToken: _ = try gateway.admin("POST", "/tokens/\(token)/expire")
    default: _ = try gateway.admin("PUT", "/tokens", #"[{"token":"\#(token)","topic":"other"}]"#)
    }
    return try GatewayClient(gateway).send { $0 }
  }

  private func service(_ reason: Reason) throws -> Answer {
    let states: [Reason: String] = [
      .internalServerError: "failing", .serviceUnavailable: "unavailable", .shutdown: "shutdown",
    ]
    try gateway.set("service", states[reason] ?? "")
    return try GatewayClient(gateway).send { $0 }
  }

  /// What keys and their tokens are refused for.
  private func key(_ reason: Reason) throws -> Answer {
    let key = gateway.key
    let client = try GatewayClient(gateway)
    let now = WallClock.seconds()
    func send(_ token: String) throws -> Answer {
      try client.send { $0.with("authorization", "bearer " + token) }
    }
    switch reason {
    case .expiredProviderToken: return try send(key.token(issuedAt: now - 3_700))
    case .forbidden:
      try gateway.declare(key, [("state", "revoked")])
      return try client.send { $0 }
    case .topicDisallowed:
      try gateway.declare(key, [("apps", ["com.example.other"])])
      return try client.send { $0 }
    case .badEnvironmentKeyIdInToken, .badEnvironmentKeyInToken:
      try gateway.set("key-environment-reason", reason.name)
      try gateway.declare(key, [("environment", "sandbox")])
      return try client.send { $0 }
    case .unrelatedKeyIdInToken:
      let other = try TestKey(id: "KEY0000002")
      try gateway.declare(other)
      _ = try client.send { $0 }
      return try send(other.token(issuedAt: now))
    default:
      // TooManyProviderTokenUpdates.
      _ = try client.send { $0 }
      return try send(key.token(issuedAt: now - 5))
    }
  }

  // MARK: Channels

  private func broadcast(_ change: (PushText) -> PushText) throws -> Answer {
    try GatewayClient(gateway).send { change(Self.broadcast($0)) }
  }

  private static func broadcast(_ push: PushText) -> PushText {
    push.with(":path", "/4/broadcasts/apps/\(app)").with("apns-topic", nil)
      .with("apns-push-type", "liveactivity").with("apns-collapse-id", nil)
      .adding("apns-channel-id", channel)
  }

  private func manage(_ method: String, _ body: String) throws -> Answer {
    let client = try GatewayClient(gateway, at: gateway.simulator.managementAddress)
    return try client.send { push in
      push.with(":method", method).with(":path", "/1/apps/\(Self.app)/channels").withText(body)
    }
  }

  private func channels(_ reason: Reason) throws -> Answer {
    switch reason {
    case .topicMismatch:
      try gateway.declare(gateway.key, [("apps", ["com.example.other"])])
      return try broadcast { $0 }
    case .featureNotEnabled:
      _ = try gateway.admin("PUT", "/apps", #"[{"app":"\#(Self.app)","broadcast":false}]"#)
      return try broadcast { $0 }
    case .missingChannelId: return try broadcast { $0.with("apns-channel-id", nil) }
    case .badChannelId: return try broadcast { $0.with("apns-channel-id", "no!") }
    case .channelNotRegistered: return try broadcast { $0 }
    case .missingPushType: return try broadcast { $0.with("apns-push-type", nil) }
    case .badRequestPayload: return try manage("POST", "{")
    case .badRequestParams:
      return try manage(
        "POST", #"{"message-storage-policy":1,"push-type":"LiveActivity","colour":"red"}"#)
    case .missingChannelQueueSize: return try manage("POST", #"{"push-type":"LiveActivity"}"#)
    default:
      // CannotCreateChannelConfig.
      try gateway.set("channel-limit", "0")
      return try manage("POST", #"{"message-storage-policy":1,"push-type":"LiveActivity"}"#)
    }
  }
}

extension GatewayClient {
  /// Sends its push, changed.
  func send(_ change: (PushText) -> PushText) throws -> Answer { try send(change(push)) }
}
