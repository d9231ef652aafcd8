// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewayModel

@testable import GatewaySimulator

extension FuzzTarget {
  /// A request to the simulator: lines `name: value`, an empty line, the body. `@token` stands for a good provider
  /// token. A push that is accepted is one that APNs would take.
  static func gatewayRequest() -> FuzzTarget {
    let desk = RequestDesk()
    return FuzzTarget("gateway-request") { bytes in desk.violation(bytes) }
  }
}

/// The simulator's checks of requests, without a connection.
private final class RequestDesk {
  private static let now: Int64 = 1_795_224_000_000
  private let key = try? SigningKey.generate()
  private lazy var token: [UInt8] = {
    let minter = key.flatMap {
      try? ProviderTokenMinter(key: $0, teamID: "TEAM000001", keyID: "KEY0000001")
    }
    let token = minter.flatMap { try? $0.mint(issuedAt: Self.now / 1_000 - 60) }
    return Array((token ?? "").utf8)
  }()

  private func validator(_ rules: GatewayRules) -> PushValidator {
    let keys = key.map {
      [GatewayKey(keyID: "KEY0000001", teamID: "TEAM000001", publicKey: $0.publicKey)]
    }
    return PushValidator(
      keys: keys ?? [], devices: DeviceRegistry(), environment: .production, rules: rules)
  }

  func violation(_ bytes: UnsafeRawBufferPointer) -> String? {
    var lenient = GatewayRules()
    lenient.jsonCheck = .off
    var strict = GatewayRules()
    (strict.jsonCheck, strict.identifierForm) = (.strict, .strict)
    strict.providerTokenForm = .strict
    return token.withUnsafeBytes { token in
      let push = Self.fields(bytes, token)
      return judged(push, lenient) ?? judged(push, GatewayRules()) ?? judged(push, strict)
    }
  }

  private static func fields(
    _ bytes: UnsafeRawBufferPointer, _ token: UnsafeRawBufferPointer
  ) -> PushFields {
    var push = PushFields()
    var rest = bytes[...]
    while !rest.isEmpty {
      let line = rest.prefix { $0 != UInt8(ascii: "\n") }
      rest = rest.dropFirst(line.count + 1)
      if line.isEmpty { break }
      // A pseudo header begins with a colon.
      let name = line.dropFirst().prefix { $0 != UInt8(ascii: ":") }.count + 1
      let value = line.dropFirst(name + 2)
      push.add(
        UnsafeRawBufferPointer(rebasing: line.prefix(name)),
        value.elementsEqual("@token".utf8) ? token : UnsafeRawBufferPointer(rebasing: value))
    }
    push.body = UnsafeRawBufferPointer(rebasing: rest)
    push.bodyCount = rest.count
    return push
  }

  private func judged(_ push: PushFields, _ rules: GatewayRules) -> String? {
    var validator = validator(rules)
    var access = ConnectionAccess()
    if let app = push.path(after: "/4/broadcasts/apps/") {
      let judgement = validator.judgeBroadcast(
        push, app: app, &access, ChannelRegistry(), now: Self.now)
      return judgement.refusal == nil && !judgement.isSilent
        ? "a broadcast to a channel that nobody made" : nil
    }
    if push.path(after: "/1/apps/") != nil { return managed(push, &validator, &access) }
    let judgement = validator.judge(push, &access, now: Self.now)
    guard judgement.refusal == nil, !judgement.isSilent else { return nil }
    let limit = (push.pushType?.pushType(in: .builtIn) ?? .alert).payloadLimit
    guard push.method.spells("POST"), push.deviceToken?.isDeviceToken == true,
      push.topic.map({ PushValidator.isTopic($0) }) == true, (1...limit).contains(push.bodyCount),
      push.collapseID?.count ?? 0 <= 64, !push.hasDuplicate, judgement.isAuthenticated
    else { return "accepted, and APNs would refuse it" }
    let kept = AcceptedPush(
      push, id: SpelledID(NotificationID(high: 1, low: 2)),
      DeclaredToken(token: "00", state: .offline), types: .builtIn, receivedAt: Self.now)
    let longest = Self.now + NotificationStore.longest
    return NotificationStore.end(of: kept, GatewayRules()) ?? 0 <= longest
      ? nil : "kept for longer than APNs does"
  }

  private func managed(
    _ push: PushFields, _ validator: inout PushValidator, _ access: inout ConnectionAccess
  ) -> String? {
    let (judgement, reply) = validator.judgeManagement(
      push, &access, ChannelRegistry(), newID: { "dHN0LXNyY2gtY2hubA==" }, now: Self.now)
    let isAccepted = judgement.refusal == nil && !judgement.isSilent
    return isAccepted == (reply != nil) ? nil : "neither refused nor answered"
  }
}
