// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// Signing keys whose ids were mixed up.
@Suite struct CredentialFindingTests {
  private func credential(
    _ team: String, _ key: String, _ file: String? = nil, apps: [String] = ["com.example.app"]
  ) -> CredentialFacts {
    CredentialFacts(
      teamID: team, keyID: key, keyFile: file ?? "/keys/AuthKey_\(key).p8", environment: "any",
      apps: apps)
  }

  @Test
  func
    `a swapped key and team id is seen by the name of the file, and the remedy is to exchange them`()
  {
    let found = CredentialFindings.all([
      credential("KEY0000001", "TEAM000001", "/keys/AuthKey_KEY0000001.p8")
    ])
    #expect(found.map(\.status) == [.error])
    #expect(
      found[0].message
        == "team_id and key_id are swapped: the file's name says that KEY0000001 is the key")
    #expect(found[0].remedy == "exchange the values of team_id and key_id")
    #expect(found[0].place == "/keys/AuthKey_KEY0000001.p8")
  }

  @Test func `swapped in one of two entries of a team is seen without Apple's file names`() {
    let found = CredentialFindings.all([
      credential("TEAM000001", "KEY0000001", "a.p8"),
      credential("KEY0000002", "TEAM000001", "b.p8"),
      credential("TEAM000009", "KEY0000009", "c.p8"),
    ])
    #expect(
      found.map(\.status) == [.error, .error, .ok], "it cannot be told which of the two is wrong")
    #expect(found[0].message == "TEAM000001 is a team_id in one entry and a key_id in another")
    #expect(found[1].message == found[0].message)
  }

  @Test func `a file that says another key, and one id for both`() {
    let other = CredentialFindings.all([
      credential("TEAM000001", "KEY0000001", "AuthKey_KEY0000002.p8")
    ])[0]
    #expect(other.status == .error)
    #expect(other.message == "the file's name says key KEY0000002, key_id says KEY0000001")
    let same = CredentialFindings.all([credential("KEY0000001", "KEY0000001")])[0]
    #expect(same.status == .error && same.message == "team_id and key_id are both KEY0000001")
  }

  @Test func `right ones are described; a file's name counts only in the form that Apple gives it`()
  {
    #expect(
      CredentialFindings.all([credential("TEAM000001", "KEY0000001")]) == [
        .ok(
          .credential, "/keys/AuthKey_KEY0000001.p8",
          "key KEY0000001 of team TEAM000001 for any, com.example.app")
      ])
    for name in [
      "key.p8", "AuthKey_KEY.p8", "AuthKey_key0000001.p8", "AuthKey_KEY0000002.pem", "", "/",
    ] {
      #expect(
        CredentialFindings.all([credential("TEAM000001", "KEY0000001", name)])[0].status == .ok)
    }
    #expect(
      CredentialFindings.all([credential("TEAM000001", "KEY0000001", apps: ["*"])])[0].message
        .hasSuffix("every app that no other key names"))
    #expect(
      CredentialFindings.all([credential("TEAM000001", "KEY0000001", apps: ["a", "b", "c", "d"])])[
        0
      ]
      .message.hasSuffix("4 apps"))
    #expect(CredentialFindings.all([]).isEmpty)
  }
}
