// SPDX-License-Identifier: Apache-2.0
import Contract
import ServiceKit
import Telemetry
import Testing

@testable import Sender

@Suite struct CredentialSamplesTests {
  @Test func `credentials that were withdrawn take no series from those that are there`() {
    var book = ProviderTokenBook()
    let count = SenderMetrics.namedCredentials + 1
    for number in 0..<count {
      let entry = ProviderTokenBook.Entry(
        credential: "T/\(number)/any", teamID: "T", keyID: "\(number)", scope: .any,
        apps: ["app.\(number)"], stamp: ProviderTokenStamp(issuedAt: 1_000, generation: 1),
        token: [1])
      _ = book.apply(entry, now: 1_000_000)
      if number < count - 1 { _ = book.remove(credential: entry.credential, now: 1_000_000) }
    }
    let samples = LatestSamples()
    samples.publish(book)
    #expect(Set(samples.samples.map(\.labels)) == [["T/\(count - 1)/any"]])
  }
}
