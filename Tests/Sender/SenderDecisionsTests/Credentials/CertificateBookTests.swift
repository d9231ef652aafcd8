// SPDX-License-Identifier: Apache-2.0

import Contract
import Testing

@testable import SenderDecisions

@Suite struct CertificateBookTests {
  private let day: Int64 = 86_400

  private func resolve(_ book: CertificateBook, _ app: String, _ environment: Environment) -> Int? {
    book.resolve(appHash: AppHash.of(app.utf8.span), environment: environment)
  }

  @Test func `an app's certificate of its environment is taken`() {
    let book = CertificateBook(
      [
        .init(apps: ["a"], scope: .sandbox, expiresAt: 10),
        .init(apps: ["a", "b"], scope: .production, expiresAt: 10),
      ], now: 0)
    #expect(resolve(book, "a", .sandbox) == 0)
    #expect(resolve(book, "a", .production) == 1)
    #expect(resolve(book, "b", .sandbox) == nil)
    #expect(resolve(book, "c", .production) == nil)
  }

  @Test func `of two the one that lasts longer and none that is over`() {
    var book = CertificateBook(
      [
        .init(apps: ["a"], scope: .any, expiresAt: 100),
        .init(apps: ["a"], scope: .any, expiresAt: 200),
      ], now: 0)
    #expect(resolve(book, "a", .production) == 1)
    #expect(book.refresh(now: 99) == false)
    #expect(book.refresh(now: 100) == true, "the first is over")
    #expect(resolve(book, "a", .production) == 1)
    #expect(book.refresh(now: 200) == true)
    #expect(resolve(book, "a", .production) == nil)
    #expect(book.refresh(now: 1_000) == false)
  }

  @Test func `a certificate that a wrong clock has ended comes back when the clock is set right`() {
    var book = CertificateBook(
      [
        .init(apps: ["a"], scope: .any, expiresAt: 100),
        .init(apps: ["b"], scope: .any, expiresAt: 200),
      ], now: 0)
    #expect(book.refresh(now: 1_000) == true)
    #expect(book.refresh(now: 150) == true)
    #expect(resolve(book, "a", .production) == nil && resolve(book, "b", .production) == 1)
    #expect(book.refresh(now: 149) == false)
    #expect(book.refresh(now: 50) == true)
    #expect(resolve(book, "a", .production) == 0)
  }

  @Test func `days are whole and go below zero`() {
    let book = CertificateBook([.init(apps: ["a"], scope: .any, expiresAt: 30 * day)], now: 0)
    #expect(book.daysLeft(now: 0) == 30)
    #expect(book.daysLeft(now: 1) == 29)
    #expect(book.daysLeft(now: 30 * day) == 0)
    #expect(book.daysLeft(now: 30 * day + 1) == -1)
    #expect(CertificateBook().daysLeft(now: 0) == nil)
  }
}
