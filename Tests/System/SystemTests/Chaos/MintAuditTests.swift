// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import ChaosSuite

@Suite struct MintAuditTests {
  private func minted(_ times: Int64...) -> MintAudit {
    var audit = MintAudit(now: 100_000)
    for time in times { audit.read("team", .token(issuedAt: time)) }
    return audit
  }

  @Test func `two provider tokens within twenty minutes are found`() {
    #expect(MintAudit(now: 100_000).hasty.count == 1)
    #expect(minted(90_000, 91_199).hasty == ["team got a provider token 1199 s after the last"])
    #expect(minted(90_000, 91_200, 90_000).hasty == [])
    #expect(minted(90_000, 91_000, 92_200).hasty.count == 1)
  }

  @Test func `tokens that senders never use are not hasty: those of a clock that was moved`() {
    // A day ahead and back to a valid time; then ten minutes behind and back.
    #expect(minted(99_000, 185_400, 99_000).hasty == [])
    #expect(minted(99_000, 98_400, 99_000).hasty == [])
  }

  @Test func `minting goes on if the newest record of each credential may be used`() {
    #expect(minted(99_000, 185_400).unusable == ["team"])
    #expect(minted(99_000, 185_400, 99_000).unusable == [])
    #expect(minted(96_700).unusable == ["team"])
    var withdrawn = minted(99_000)
    withdrawn.read("team", .nothing)
    #expect(withdrawn.unusable == ["team"])
  }

  @Test func `a credential that the signer has withdrawn is none, whatever stood there before`() {
    var audit = minted(99_000)
    for time: Int64 in [0, 1] { audit.read("forged", .token(issuedAt: time)) }
    audit.read("forged", .nothing)
    #expect(audit.unusable == ["forged"])
    #expect(audit.hasty.count == 1)
    audit.read("forged", .withdrawn)
    audit.read("forged", .nothing)
    #expect(audit.unusable == [])
    #expect(audit.hasty == [])
  }
}
