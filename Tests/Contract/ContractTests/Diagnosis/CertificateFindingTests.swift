// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@Suite struct CertificateFindingTests {
  private let day: Int64 = 86_400
  private func certificate(
    _ change: (inout CertificateFacts) -> Void = { _ in }
  ) -> CertificateFacts {
    var facts = CertificateFacts(
      path: "push.pem", bundleID: "com.a", topics: ["com.a", "com.a.voip"], apps: ["com.a"],
      hasSandboxMark: true, hasProductionMark: true, expiresAt: 100 * day)
    change(&facts)
    return facts
  }

  @Test(
    arguments: [
      (-1, .error), (0, .error), (1, .warning), (30 * 86_400 - 1, .warning), (30 * 86_400, .ok),
    ] as [(Int64, Finding.Status)])
  func `an end within 30 days is a warning, a past one an error`(
    left: Int64, status: Finding.Status
  ) {
    let found = CertificateFindings.all(certificate(), now: 100 * day - left)
    #expect(found.map(\.status) == [status])
    #expect(found[0].remedy.isEmpty == (status == .ok))
  }

  @Test func `a finding says what a certificate serves, and until when`() {
    func message(_ change: (inout CertificateFacts) -> Void) -> String {
      CertificateFindings.all(certificate(change), now: 0)[0].message
    }
    #expect(message { _ in } == "for com.a in sandbox and production, expires in 100 days")
    #expect(message { $0.hasProductionMark = false }.contains("in sandbox,"))
    #expect(message { $0.hasSandboxMark = false }.contains("in production,"))
  }

  @Test func `one without an environment, and one whose list serves apps that it does not name`() {
    let unmarked = certificate {
      $0.hasSandboxMark = false
      $0.hasProductionMark = false
    }
    #expect(CertificateFindings.all(unmarked, now: 0).map(\.status) == [.warning])
    let stranger = certificate { $0.apps = ["com.a", "com.ab"] }
    let found = CertificateFindings.all(stranger, now: 0)
    #expect(found.map(\.status) == [.error])
    #expect(found[0].message == "serves com.ab by its list, but names com.a, com.a.voip")
    let bare = certificate { $0.topics = [] }
    #expect(CertificateFindings.all(bare, now: 0)[0].message.hasSuffix("names no topic"))
    // Everything that is wrong, not the first of it.
    let all = certificate {
      $0.hasSandboxMark = false
      $0.hasProductionMark = false
      $0.apps = ["com.b"]
    }
    #expect(
      CertificateFindings.all(all, now: 99 * day).map(\.status) == [.warning, .warning, .error])
  }
}
