// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import GatewaySimulator
import HTTP2
import Records
import Testing

/// Faults of provider tokens.
@Suite struct FaultCredentialTests {
  /// The bodies of answers to a first token, to a second one minutes later, and to the first again.
  private func renewals(_ renewal: String) throws -> [String] {
    let rig = try FaultRig(#"[{"id":"provider_token_refused","renewal":"\#(renewal)"}]"#)
    let client = try rig.client()
    let now = WallClock.seconds()
    let tokens = try [now - 120, now - 60].map { try rig.gateway.key.token(issuedAt: $0) }
    var answers: [String] = []
    for place in [0, 1, 0] {
      let push = client.push.with("authorization", "bearer " + tokens[place])
      let exchange = client.begin(push)
      if renewal == "black_hole", answers.count == 2 {
        try client.pass(milliseconds: 150)
        #expect(exchange.pointee.fate == .pending)
        answers.append("nothing")
        continue
      }
      try client.wait { exchange.pointee.fate != .pending }
      answers.append(
        exchange.pointee.status == 200
          ? "200" : String(decoding: exchange.pointee.responseBytes, as: UTF8.self))
    }
    return answers
  }

  @Test
  func `provider_token_refused: a provider token that is replaced within 20 minutes, in each mode`()
    throws
  {
    let refused = #"{"reason":"TooManyProviderTokenUpdates"}"#
    #expect(try renewals("off") == ["200", "200", "200"])
    #expect(try renewals("token") == ["200", refused, "200"])
    #expect(try renewals("wedge") == ["200", refused, refused])
    #expect(try renewals("black_hole") == ["200", refused, "nothing"])
  }

  @Test(arguments: [
    ("revoked", "Forbidden"), ("other_environment", "BadEnvironmentKeyIdInToken"),
    ("other_team", "InvalidProviderToken"),
  ])
  func `provider_token_refused: a key that is revoked, of the other environment, of another team`(
    field: String, reason: String
  ) throws {
    let rig = try FaultRig("[]")
    let client = try rig.client()
    #expect(try client.send(client.push).status == 200)
    try rig.add(#"[{"id":"provider_token_refused","\#(field)":"\#(rig.gateway.key.id)"}]"#)
    // Also on a connection that was good, and only while the rule stands.
    #expect(try client.send(client.push).body == #"{"reason":"\#(reason)"}"#)
    let fresh = try rig.client()
    #expect(try fresh.send(fresh.push).body == #"{"reason":"\#(reason)"}"#)
    _ = try rig.gateway.admin("DELETE", "/faults")
    let good = try rig.client()
    #expect(try good.send(good.push).status == 200)
  }

  @Test func `provider_token_refused: a related key that is related no more`() throws {
    let rig = try FaultRig("[]")
    let second = try TestKey(id: "KEY0000002")
    let pem = String(decoding: try second.key.publicKey.pem(), as: UTF8.self)
    let keys: JSONValue = [
      [
        "key_id": .string(second.id), "team_id": .string(second.team),
        "public_key": .string(pem), "related_key_id": .string(rig.gateway.key.id),
      ]
    ]
    let answer = try rig.gateway.admin("PUT", "/keys", String(decoding: keys.text, as: UTF8.self))
    try #require(answer == "{\"accepted\":1}\n", "\(answer)")
    let token = try second.token(issuedAt: WallClock.seconds())
    func mixed(_ client: GatewayClient) throws -> GatewayClient.Answer {
      _ = try client.send(client.push)
      return try client.send(client.push.with("authorization", "bearer " + token))
    }
    #expect(try mixed(rig.client()).status == 200)
    try rig.add(#"[{"id":"provider_token_refused","unrelated":"\#(second.id)"}]"#)
    #expect(try mixed(rig.client()).body == #"{"reason":"UnrelatedKeyIdInToken"}"#)
  }
}
