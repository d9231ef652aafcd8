// SPDX-License-Identifier: Apache-2.0
import APNS
import Delivery
import Pipeline
import Testing

@testable import Dispatch

@Suite struct CredentialsTests {
  private func push(app: UInt64) -> PushState {
    var push = PushState()
    push.fill(
      PushFacts(
        takenID: NotificationID(high: 0, low: app), app: app, device: 1, lane: .bulk, created: 0,
        expiresAt: .max),
      Origin(partition: 0, epoch: 0, offset: 0), maxAge: 1, kind: .production)
    return push
  }

  /// Anyone may write notifications of apps that nobody has: more than the table of those asked for remembers.
  @Test func `a flood of unknown apps asks for a bounded number of tokens per second`() {
    var credentials = Credentials(certificates: CertificateBook([], now: 0))
    var asked: [UInt64: Int] = [:]
    for now in stride(from: UInt64(5_000), to: 8_000, by: 10) {
      for number in 0..<2_000 as Range<UInt64> {
        let push = push(app: number &* 0x9E37_79B9_7F4A_7C15)
        if credentials.shouldRequestToken(of: push, now: now) {
          asked[now / 1_000, default: 0] += 1
        }
      }
    }
    #expect(asked == [5: 256, 6: 256, 7: 256])
  }

  @Test func `an app is asked for once per second`() {
    var credentials = Credentials(certificates: CertificateBook([], now: 0))
    let times = [5_000, 5_999, 6_000, 6_001, 7_000] as [UInt64]
    let asked = times.map { credentials.shouldRequestToken(of: push(app: 7), now: $0) }
    #expect(asked == [true, false, true, false, true])
  }
}
