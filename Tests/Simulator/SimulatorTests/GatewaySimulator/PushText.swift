// SPDX-License-Identifier: Apache-2.0
import Crypto
import GatewaySimulator

/// The fields of a push as text, and the memory they need while they are looked at.
struct PushText {
  var fields: [(name: String, value: String)]
  /// Ten bytes of JSON and blanks up to 100.
  var body = Array(#"{"aps":{}}"#.utf8) + Array(repeating: 0x20, count: 90)

  /// A push that every check accepts.
  init(token: String) {
    fields = [
      (":method", "POST"), (":scheme", "https"), (":authority", "localhost"),
      (":path", "/3/device/" + String(repeating: "0a", count: 32)),
      ("authorization", "bearer " + token), ("apns-topic", "com.example.app"),
      ("apns-push-type", "alert"), ("apns-priority", "10"), ("apns-expiration", "0"),
      ("apns-id", "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"), ("apns-collapse-id", "order-1"),
    ]
  }

  /// Replaces a field's value, or takes the field away.
  func with(_ name: String, _ value: String?) -> PushText {
    var changed = self
    changed.fields = fields.compactMap { field in
      field.name != name ? field : value.map { (name, $0) }
    }
    return changed
  }

  func adding(_ name: String, _ value: String) -> PushText {
    var changed = self
    changed.fields.append((name, value))
    return changed
  }

  func withBody(_ count: Int) -> PushText {
    var changed = self
    changed.body = Array(repeating: UInt8(ascii: "b"), count: count)
    return changed
  }

  func withText(_ text: String) -> PushText {
    var changed = self
    changed.body = Array(text.utf8)
    return changed
  }

  func withFields<Result>(_ body: (PushFields) -> Result) -> Result {
    let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
    defer { memory.deallocate() }
    var end = 0
    func place(_ bytes: [UInt8]) -> UnsafeRawBufferPointer {
      let part = UnsafeMutableRawBufferPointer(rebasing: memory[end..<end + bytes.count])
      part.copyBytes(from: bytes)
      end += bytes.count
      return UnsafeRawBufferPointer(part)
    }
    var push = PushFields()
    for field in fields { push.add(place(Array(field.name.utf8)), place(Array(field.value.utf8))) }
    push.bodyCount = self.body.count
    push.body = place(self.body)
    return body(push)
  }
}

/// A key of a team, for minting tokens and for the gateway that checks them.
struct TestKey {
  let key: SigningKey
  let team: String
  let id: String

  init(team: String = "TEAM000001", id: String = "KEY0000001") throws {
    key = try SigningKey.generate()
    self.team = team
    self.id = id
  }

  func token(issuedAt: Int64) throws -> String {
    try ProviderTokenMinter(key: key, teamID: team, keyID: id).mint(issuedAt: issuedAt)
  }
}
