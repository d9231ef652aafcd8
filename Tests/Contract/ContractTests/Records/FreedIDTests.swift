// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Records
import Testing

@Suite struct FreedIDTests {
  private func notification(_ id: String, app: String = "com.example.app", environment: String)
    -> [UInt8]
  {
    let fields = [
      "M2", "transactional", environment, app, app, "alert", "10", "", id, "1795000000000", "", "",
      "", "",
    ]
    return Array((fields.joined(separator: "\t") + "\n{}").utf8)
  }

  private func freed(_ value: [UInt8]) -> NotificationID? {
    value.withUnsafeBytes { FreedID($0)?.dedupKey }
  }

  private func value(_ notification: [UInt8]) throws -> [UInt8] {
    let envelope = try Envelope.parse(notification.span)
    var buffer = ByteBuffer(capacity: 64)
    notification.withUnsafeBytes { FreedID.append(of: $0, envelope, to: &buffer) }
    return Array(buffer.bytes)
  }

  private static let ids = [
    "00000000-0000-4000-8000-000000000001", "0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a",
  ]

  @Test(arguments: ids, ["production", "sandbox"])
  func `it names what its notification counts as taken under, and no other app's`(
    id: String, environment: String
  ) throws {
    let notification = notification(id, environment: environment)
    let value = try value(notification)
    #expect(value.first == FreedID.mark && !Envelope.begins(value))
    #expect(freed(value) == (try Envelope.parse(notification.span).dedupKey))
    let other = self.notification(id, app: "com.example.other", environment: environment)
    #expect(freed(value) != (try Envelope.parse(other.span).dedupKey))
    #expect(throws: EnvelopeError.self) { try Envelope.parse(value.span) }
  }

  @Test func `what is none is not taken for one, cut anywhere or changed`() throws {
    let value = try value(notification(Self.ids[0], environment: "sandbox"))
    // Without its last bytes it names another app.
    for count in 0..<value.count - "com.example.app".utf8.count {
      #expect(freed(Array(value[..<count])) == nil)
    }
    #expect(freed(value) != nil)
    for index in 0..<value.count - "com.example.app".utf8.count {
      var other = value
      other[index] = UInt8(ascii: "!")
      #expect(freed(other) == nil, "byte \(index)")
    }
    #expect(freed(value + [UInt8](repeating: 97, count: 3_000)) == nil)
    #expect(freed([]) == nil && freed(notification(Self.ids[0], environment: "sandbox")) == nil)
  }
}
