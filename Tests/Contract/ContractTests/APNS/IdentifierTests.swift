// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing
import Waiting

/// Ids of notifications, with `HexWord` and `Span+Text`.
@Suite struct NotificationIDTests {
  @Test func `notification ids are read in either case and printed in lower case`() {
    let text = "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    let id = NotificationID(text)
    #expect(id == NotificationID(high: 0x0F6E_1C1E_5A0B_4C55, low: 0x9D0E_6F6B_3A1C_2D3E))
    #expect(id?.description == text)
    #expect(NotificationID(text.uppercased()) == id)
  }

  @Test func `notification ids print and read back whatever their bits are`() {
    var random = SeededGenerator(seed: 11)
    for _ in 0..<2_000 {
      let id = NotificationID(high: random.next(), low: random.next())
      #expect(NotificationID(id.description) == id)
    }
  }

  @Test
  func
    `notification ids take any digit in any place, and are refused when a single character is wrong`()
  {
    let good = Array("0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e".utf8)
    for position in good.indices {
      let isDash = good[position] == UInt8(ascii: "-")
      for byte in UInt8.min...UInt8.max {
        var other = good
        other[position] = byte
        let isRight = isDash ? byte == good[position] : HexDigit.value(byte) < 16
        let id = NotificationID(other.span)
        #expect((id != nil) == isRight)
        // The one digit that differs is where it belongs.
        guard let id, !isDash else { continue }
        #expect(id.characters[position] == HexDigit.character(HexDigit.value(byte)))
      }
    }
    #expect(NotificationID("") == nil)
    #expect(NotificationID("0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3") == nil)
    #expect(NotificationID("0f6e1c1e5a0b4c559d0e6f6b3a1c2d3e0000") == nil)
  }

  @Test func `of version 5 agree with the example of RFC 9562`() {
    // RFC 9562 appendix A.4: SHA-1 of the DNS namespace and "www.example.com".
    let digest: [UInt8] = [
      0x2E, 0xD6, 0x65, 0x7D, 0xE9, 0x27, 0x46, 0x8B, 0x55, 0xE1, 0x26, 0x65, 0xA8, 0xAE, 0xA6,
      0xA2, 0x2D, 0xEE, 0x3E, 0x35,
    ]
    let id = NotificationID(version5Digest: digest.span)
    #expect(id.description == "2ed6657d-e927-568b-95e1-2665a8aea6a2")
  }

  @Test func `notification ids are derived under a fixed namespace`() {
    #expect(NotificationID.namespace.description == "6d617274-6c65-5470-b573-680000000001")
  }
}

/// Device tokens, with `TokenDisguise`.
@Suite struct DeviceTokenTests {
  private func problem(_ text: String) -> DeviceToken.Problem? {
    do {
      try DeviceToken.validate(text.utf8.span)
      return nil
    } catch { return error }
  }

  @Test func `device tokens are hexadecimal digits of any even number up to 512, in either case`() {
    for digits in [2, 64, 160, 200, 512] {
      #expect(problem(String(repeating: "aF", count: digits / 2)) == nil)
    }
  }

  @Test func `device tokens are refused with what is wrong and where`() {
    #expect(problem("") == .empty)
    #expect(problem("abc") == .oddLength(3))
    #expect(problem(String(repeating: "0", count: 514)) == .tooLong(514))
    #expect(problem("00 0") == .notHexadecimal(at: 2))
    #expect(problem("0g") == .notHexadecimal(at: 1))
    #expect(problem("é") == .notHexadecimal(at: 0))
  }

  @Test func `device tokens are taken without white space around them and old decoration`() throws {
    for text in ["aBcd", " abcd", "abcd\r\n", "\tab cd\n", "<ab cd>", "\n<abcd>\u{B}"] {
      #expect(try DeviceToken.normalized(text) == "abcd", "\(text.debugDescription)")
    }
    for text in ["", " ", "<>", "\r\n"] {
      #expect(throws: DeviceToken.Problem.empty) { try DeviceToken.normalized(text) }
    }
  }

  @Test(arguments: [
    ("dA9HB768809/zt5Bn8mN0kH2jC1dQm3xX9S7b1kJf0E=", "base64"),
    ("dA9HB768809_zt5Bn8mN0kH2jC1dQm3xX9S7b1kJf0E", "base64"),
    ("{length = 32, bytes = 0x740f4707 bebcf74f ... 7f25d488 }", "description of a Data object"),
    ("<740f4707 bebcf74f ... 7f25d488>", "description of a Data object"),
    ("ExponentPushToken[xxxxxxxxxxxxxxxxxxxxxx]", "Expo"), ("ExpoPushToken[x]", "Expo"),
    ("fGw0qy4TQfmX9:APA91b" + String(repeating: "Ab-_0", count: 28), "Firebase"),
    ("0F6E1C1E-5A0B-4C55-9D0E-6F6B3A1C2D3E", "UUID"), ("(null)", "missing value"),
    ("undefined", "missing value"), ("Optional(\"abcd\")", "quotation marks"),
    ("\"abcd\"", "quotation marks"), ("0xabcd", "0x"), ("abcd\nef01", "one token each"),
    ("abcd\tef01", "one token each"), ("abcd%20", "percent-encoded"),
  ])
  func `in another form are refused with what they look like`(text: String, words: String) {
    for text in [text, text + "\n", " " + text] {
      let problem = #expect(throws: DeviceToken.Problem.self) { try DeviceToken.normalized(text) }
      #expect(problem?.description.contains(words) == true, "\(problem?.description ?? "")")
    }
  }

  @Test func `texts that no known client has decorated so are refused all the same`() {
    #expect(DeviceToken.TokenLookalike("xyz".utf8.span) == nil)
    #expect(DeviceToken.TokenLookalike("".utf8.span) == nil)
    #expect(DeviceToken.TokenLookalike(String(repeating: "é", count: 9_000).utf8.span) == nil)
  }

  @Test func `device tokens appear in logs with eight digits only`() {
    #expect(DeviceToken.shortened("0123456789abcdef") == "01234567…")
    #expect(DeviceToken.shortened("0123") == "0123")
  }
}

@Suite struct PushTypeTests {
  @Test func `push types are found by their names only`() {
    for type in PushType.allCases {
      #expect(PushType(type.description) == type)
      #expect(PushType(type.description + "s") == nil)
      #expect(PushType("x" + type.description.dropFirst()) == nil)
    }
    #expect(PushType("") == nil)
  }

  @Test(arguments: [
    (PushType.alert, "", 4_096, [10, 5, 1], PushType.Authentication.either),
    (.background, "", 4_096, [5], .either),
    (.location, ".location-query", 4_096, [10, 5], .providerToken),
    (.voip, ".voip", 5_120, [10], .either),
    (.complication, ".complication", 4_096, [10, 5, 1], .either),
    (.fileprovider, ".pushkit.fileprovider", 4_096, [10, 5, 1], .either),
    (.mdm, "", 4_096, [10, 5, 1], .certificate),
    (.liveactivity, ".push-type.liveactivity", 4_096, [10, 5], .either),
    (.pushtotalk, ".voip-ptt", 4_096, [10, 5, 1], .either),
    (.widgets, ".push-type.widgets", 4_096, [10, 5, 1], .providerToken),
    (.controls, ".push-type.controls", 4_096, [10, 5, 1], .providerToken),
    (.nowplaying, ".push-type.nowplaying", 4_096, [10, 5], .providerToken),
  ])
  func `push types decide suffix, body limit, priorities and authentication`(
    type: PushType, suffix: String, limit: Int, priorities: [Int64],
    authentication: PushType.Authentication
  ) {
    #expect(type.topicSuffix.description == suffix)
    #expect(type.payloadLimit == limit)
    #expect(type.authentication == authentication)
    for priority in Int64(-1)...11 {
      #expect(type.suits(priority: priority) == priorities.contains(priority), "\(priority)")
    }
    #expect(type.suits(priority: Int64(type.defaultPriority)))
    #expect(type.defaultPriority == (type == .background ? 5 : 10))
  }

  @Test func `push types are taken by APNs with more priorities than make sense`() {
    #expect(PushType.voip.allows(priority: 5))
    #expect(PushType.location.allows(priority: 1))
    #expect(!PushType.background.allows(priority: 10))
    #expect(!PushType.liveactivity.allows(priority: 1))
    #expect(!PushType.alert.allows(priority: 7))
  }

  @Test func `the two environments are found by their names`() {
    for environment in Environment.allCases {
      #expect(Environment(environment.description) == environment)
    }
    #expect(Environment("Production") == nil)
  }
}

@Suite struct ProviderTokenClaimsTests {
  @Test func `provider tokens expire one hour after they were issued`() {
    let claims = ProviderTokenClaims(teamID: "TEAM000001", keyID: "KEY0000001", issuedAt: 1_000)
    #expect(!claims.isExpired(at: 4_600))
    #expect(claims.isExpired(at: 4_601))
  }

  @Test func `provider tokens carry ids of ten capital letters and digits`() {
    #expect(ProviderTokenClaims.isIdentifier("ABCDE12345"))
    for text in ["", "ABCDE1234", "ABCDE123456", "abcde12345", "ABCDE1234é"] {
      #expect(!ProviderTokenClaims.isIdentifier(text))
    }
  }
}
