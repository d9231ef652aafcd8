// SPDX-License-Identifier: Apache-2.0
import ConsumerGroup
import Contract
import SenderDecisions
import Testing

extension ScriptedLoop {
  /// A record of the provider tokens' topic.
  ///
  /// - Parameter age: seconds since it was signed.
  func publishToken(_ key: String = "key", apps: [String] = ["app"], age: Int64 = 5) {
    generation += 1
    update(
      .token(
        ProviderTokenBook.Entry(
          credential: key, teamID: "t", keyID: key, scope: .any, apps: apps,
          stamp: .init(issuedAt: wall / 1_000 - age, generation: generation),
          token: Array("\(key) \(generation)".utf8))))
  }

  func withdrawToken(_ key: String = "key") { update(.removed(credential: key)) }

  private func update(_ update: ProviderTokenBook.Update) {
    dispatcher.beginTurn(now: now, wall: wall)
    dispatcher.updateTokens([update], isComplete: true)
    dispatcher.applyTokens()
    perform()
  }

  /// The topic of provider tokens was read to its end, and nothing is on it.
  func findNoTokens() {
    dispatcher.updateTokens([], isComplete: true)
    dispatcher.applyTokens()
    perform()
  }

  /// Certificates were read again.
  ///
  /// - Parameter places: where each of those before stands now.
  func setCertificates(_ entries: [CertificateBook.Entry], places: [Int?] = []) {
    dispatcher.beginTurn(now: now, wall: wall)
    dispatcher.updateCertificates(entries, places: places)
    perform()
  }

  /// A certificate for these apps, for so many seconds.
  func certificate(_ apps: [String], for seconds: Int64 = 8_640_000) -> CertificateBook.Entry {
    CertificateBook.Entry(apps: apps, scope: .any, expiresAt: wall / 1_000 + seconds)
  }

  var paces: [PaceSnapshot] { dispatcher.paces }
}
