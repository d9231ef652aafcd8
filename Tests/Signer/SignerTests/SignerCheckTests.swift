// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import ServiceKit
import TestSupport
import Testing

@testable import Signer

@Suite struct SignerCheckTests {
  private func check(_ fixture: SignerFixture) throws -> [Finding] {
    let values = try fixture.values()
    return SignerService.check(try SignerSettings(values), ServiceContext(values))
  }

  @Test func `keys, clock and Kafka; no text of a key`() throws {
    let fixture = try SignerFixture(embedded: true)
    let found = try check(fixture)
    #expect(found.filter { $0.status == .error }.isEmpty, "\(found.map(\.text))")
    #expect(found.contains { $0.subject == .credential && $0.status == .ok })
    #expect(found.contains { $0.subject == .clock })
    #expect(found.contains { $0.subject == .group && $0.status == .ok })
    let pem = String(decoding: try fixture.key.pem(), as: UTF8.self).split(separator: "\n")
    let text = found.map(\.text).joined()
    for line in pem { #expect(!text.contains(line)) }
  }

  @Test func `a swapped key and team id is found by the name that Apple gave the file`() throws {
    let fixture = try SignerFixture(embedded: true)
    try File.write(fixture.folder.file("AuthKey_TEAMTEAM01.p8"), try fixture.key.pem())
    try fixture.writeCredentials(keyFile: "AuthKey_TEAMTEAM01.p8")
    let found = try check(fixture).filter { $0.subject == .credential }
    #expect(found.map(\.status) == [.error])
    #expect(found.first?.remedy == "exchange the values of team_id and key_id")
  }
}
