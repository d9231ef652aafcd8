// SPDX-License-Identifier: Apache-2.0

import APNS
import TestSupport
import Testing

@testable import Delivery

@Suite struct ProviderTokenBookTests {
  private let start: Int64 = 1_800_000_000
  private var now: Int64 { start * 1_000 }

  private func entry(
    _ credential: String, apps: [String], scope: ProviderTokenBook.Scope = .any,
    issuedAt: Int64 = 0, generation: UInt64 = 1
  ) -> ProviderTokenBook.Entry {
    .init(
      credential: credential, teamID: "TEAM", keyID: credential, scope: scope, apps: apps,
      stamp: .init(issuedAt: start + issuedAt, generation: generation),
      token: Array("\(credential)#\(generation)".utf8))
  }

  private func resolve(
    _ book: Book, _ app: String, _ environment: Environment = .production
  ) -> String? {
    book.resolve(app, environment).map { book.entries[$0].credential }
  }

  @Test func resolvesNamedAppsFirstAndStarOtherwise() {
    let book = Book()
    #expect(resolve(book, "com.example.app") == nil)
    #expect(book.apply(entry("named", apps: ["com.example.app", "b"]), now: now) == .added(0))
    #expect(book.apply(entry("all", apps: ["*"]), now: now) == .added(1))
    #expect(resolve(book, "com.example.app") == "named")
    #expect(resolve(book, "b") == "named")
    #expect(resolve(book, "com.example.other") == "all")
    #expect(resolve(book, "com.example.ap") == "all")
    #expect(resolve(book, "") == "all")
  }

  @Test func keepsEnvironmentsApart() {
    let book = Book()
    _ = book.apply(entry("p", apps: ["a"], scope: .production), now: now)
    #expect(resolve(book, "a", .sandbox) == nil)
    _ = book.apply(entry("s", apps: ["a"], scope: .sandbox), now: now)
    _ = book.apply(entry("any", apps: ["a"], scope: .any), now: now)
    #expect(resolve(book, "a", .production) == "p")
    #expect(resolve(book, "a", .sandbox) == "s")
  }

  @Test func tokensOnlyGoForward() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"], issuedAt: 100, generation: 5), now: now)
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 90, generation: 9), now: now) == .stale)
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 100, generation: 5), now: now) == .stale)
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 100, generation: 6), now: now) == .renewed(0))
    #expect(book.stamp(0).generation == 6)
    #expect(book.entries[0].token == Array("k#6".utf8))
  }

  @Test func aTokenIsUsableUntil55Minutes() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    #expect(book.isUsable(0, now: now + 55 * 60_000 - 1))
    #expect(!book.isUsable(0, now: now + 55 * 60_000))
    #expect(resolve(book, "a") == "k", "still the app's credential: its records are held")
  }

  @Test func aRemovedCredentialGivesWayAndItsOldTokenCannotReturn() {
    let book = Book()
    _ = book.apply(entry("old", apps: ["a"], generation: 3), now: now)
    _ = book.apply(entry("zzz", apps: ["a"]), now: now)
    #expect(resolve(book, "a") == "old")
    #expect(book.remove(credential: "old", now: now) == .removed(0))
    #expect(resolve(book, "a") == "zzz")
    #expect(!book.isUsable(0, now: now))
    #expect(book.entries[0].token.isEmpty)
    #expect(book.remove(credential: "old", now: now) == .stale)
    #expect(book.apply(entry("old", apps: ["a"], generation: 2), now: now) == .stale)
    #expect(book.apply(entry("old", apps: ["a"], generation: 4), now: now) == .added(0))
    #expect(resolve(book, "a") == "old")
  }

  @Test func aCredentialThatIsNoLongerRenewedGivesWayToAUsableOne() {
    let book = Book()
    _ = book.apply(entry("a", apps: ["x"]), now: now)
    _ = book.apply(entry("b", apps: ["x"], issuedAt: 1_800), now: now)
    _ = book.apply(entry("c", apps: ["*"], issuedAt: 2_400), now: now)
    #expect(resolve(book, "x") == "a")
    #expect(book.refresh(now: now + 54 * 60_000) == false)
    #expect(book.refresh(now: now + 55 * 60_000) == true)
    #expect(resolve(book, "x") == "b")
    #expect(book.refresh(now: now + 86 * 60_000) == true)
    #expect(resolve(book, "x") == "c", "a usable * before a named app without a token")
    #expect(book.refresh(now: now + 96 * 60_000) == true)
    #expect(resolve(book, "x") == "a", "none is usable: the named ones again")
  }

  @Test func appsMayChangeWithANewToken() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    _ = book.apply(entry("k", apps: ["b"], issuedAt: 10, generation: 2), now: now)
    #expect(resolve(book, "a") == nil)
    #expect(resolve(book, "b") == "k")
  }

  @Test func allSendersChooseAlikeWhateverTheOrderOfRecords() {
    var random = SeededGenerator(seed: 3)
    let scopes: [ProviderTokenBook.Scope] = [.any, .production, .sandbox]
    let all: [ProviderTokenBook.Entry] = (0..<12).map { (number: Int) in
      let apps = number % 5 == 0 ? ["*"] : ["a\(number % 3)", "b\(number % 4)"]
      return entry(
        "c\(number)", apps: apps, scope: scopes[number % 3], issuedAt: Int64(number * -400))
    }
    let names = ["a0", "a1", "a2", "b0", "b1", "b2", "b3", "none"]
    var expected: [String?]?
    for _ in 0..<50 {
      let book = Book()
      for entry in all.shuffled(using: &random) { _ = book.apply(entry, now: now) }
      var choice: [String?] = []
      for environment in Environment.allCases {
        for name in names { choice.append(resolve(book, name, environment)) }
      }
      expected = expected ?? choice
      #expect(choice == expected)
    }
  }

  @Test func hundredsOfAppsAreAllFound() {
    let book = Book()
    for number in 0..<300 {
      _ = book.apply(
        entry("c\(number)", apps: ["com.example.app\(number)", "org.\(number)"]), now: now)
    }
    for number in 0..<300 {
      #expect(resolve(book, "com.example.app\(number)") == "c\(number)")
      #expect(resolve(book, "org.\(number)", .sandbox) == "c\(number)")
    }
    #expect(resolve(book, "org.300") == nil)
  }
}

/// A book that `#expect` can hold: the book itself cannot be copied.
private final class Book {
  private var book = ProviderTokenBook()

  var entries: [ProviderTokenBook.Entry] { book.entries }
  func stamp(_ index: Int) -> ProviderTokenStamp { book.stamp(index) }
  func isUsable(_ index: Int, now: Int64) -> Bool { book.isUsable(index, now: now) }
  func refresh(now: Int64) -> Bool { book.refresh(now: now) }
  func resolve(_ app: String, _ environment: Environment) -> Int? {
    book.resolve(app: app.utf8.span, environment: environment)
  }
  func apply(_ entry: ProviderTokenBook.Entry, now: Int64) -> ProviderTokenBook.Change {
    book.apply(entry, now: now)
  }
  func remove(credential: String, now: Int64) -> ProviderTokenBook.Change {
    book.remove(credential: credential, now: now)
  }
}
