// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing

@Suite struct SpelledIDTests {
  @Test(arguments: [
    "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e", "0F6E1C1E-5A0B-4C55-9D0E-6F6B3A1C2D3E",
    "0f6e1C1E-5a0b-4C55-9D0e-6f6b3a1C2d3E", "00000000-0000-0000-0000-00000000000A",
  ])
  func `an id keeps its spelling`(text: String) throws {
    let spelled = try #require(SpelledID(text))
    #expect(spelled.description == text)
    #expect(spelled.id == NotificationID(text))
  }

  @Test func `an id that the gateway makes has one case`() throws {
    let id = try #require(NotificationID("0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"))
    #expect(SpelledID(id).description == "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e")
    #expect(SpelledID(id, isUpper: true).description == "0F6E1C1E-5A0B-4C55-9D0E-6F6B3A1C2D3E")
    #expect(SpelledID(id) != SpelledID(id, isUpper: true))
    #expect(SpelledID(id.description) == SpelledID(id))
  }

  @Test func `other text is no id`() {
    for text in [
      "", "0f6e1c1e", "0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e0",
      "0f6e1c1e5a0b4c559d0e6f6b3a1c2d3e0000",
    ] {
      #expect(SpelledID(text) == nil)
    }
  }
}
