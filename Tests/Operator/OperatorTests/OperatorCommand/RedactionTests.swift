// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import OperatorCommand

@Suite struct RedactionTests {
  private let token = String(repeating: "0a1b2c3d", count: 8)

  @Test func `a device token anywhere in a line is shortened to eight digits`() {
    let line = Redaction.applied(to: "key=\(token):com.example x\(token)", deviceTokens: true)
    #expect(line == "key=0a1b2c3d…:com.example x0a1b2c3d…")
  }

  @Test func `device tokens stay when they are asked for`() {
    #expect(Redaction.applied(to: token, deviceTokens: false) == token)
  }

  @Test(arguments: [true, false])
  func `a provider token is never shown`(deviceTokens: Bool) {
    let jwt = "eyJhbGciOiJFUzI1NiJ9.eyJpc3MiOiJURUFNIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
    let line = Redaction.applied(to: #"{"token":"\#(jwt)"}"#, deviceTokens: deviceTokens)
    #expect(line == #"{"token":"(provider token)"}"#)
  }

  /// The last digit of `\u202e` and `yJ` look like the beginning of one.
  @Test func `an escape of JSON before what looks like a provider token stays whole`() {
    let rest = "yJpc3MiOiJURUFNIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
    let line = Redaction.applied(to: #"{"b":"x\u202e\#(rest)"}"#, deviceTokens: true)
    #expect(line == #"{"b":"x\u202e(provider token)"}"#)
    let token = Redaction.applied(to: #"{"b":"\u202ee\#(rest)"}"#, deviceTokens: true)
    #expect(token == #"{"b":"\u202e(provider token)"}"#)
  }

  @Test func `an apns-id, a time and ordinary words stay`() {
    let line = "8f2c1c9e-0b5c-5d7e-9a3f-1f2e3d4c5b6a at=1763686184123 Überraschung deadbeef"
    #expect(Redaction.applied(to: line, deviceTokens: true) == line)
  }
}
