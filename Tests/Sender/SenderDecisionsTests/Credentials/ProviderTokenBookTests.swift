// SPDX-License-Identifier: Apache-2.0

import Glibc
import Testing
import Waiting

@testable import Contract
@testable import SenderDecisions

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

  @Test func `the book resolves named apps first and star otherwise`() {
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

  @Test
  func `a credential that has lost its token is known, and takes the next one whatever it is`() {
    let book = Book()
    #expect(book.apply(.lost(credential: "k"), now: now) == .stale, "nobody knows it")
    _ = book.apply(entry("k", apps: ["a"], issuedAt: 60, generation: 5), now: now)
    #expect(book.apply(.lost(credential: "k"), now: now) == .lost(0))
    #expect(resolve(book, "a") == "k")
    #expect(!book.isUsable(0, now: now))
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 50, generation: 1), now: now)
        == .renewed(0, hasOtherApps: false))
    #expect(book.isUsable(0, now: now))
    // A usable `*` serves meanwhile.
    _ = book.apply(entry("all", apps: ["*"]), now: now)
    _ = book.apply(.lost(credential: "k"), now: now)
    #expect(resolve(book, "a") == "all")
    #expect(book.apply(.removed(credential: "k"), now: now) == .removed(0))
    #expect(book.apply(.lost(credential: "k"), now: now) == .stale)
  }

  @Test func `the book keeps environments apart`() {
    let book = Book()
    _ = book.apply(entry("p", apps: ["a"], scope: .production), now: now)
    #expect(resolve(book, "a", .sandbox) == nil)
    _ = book.apply(entry("s", apps: ["a"], scope: .sandbox), now: now)
    _ = book.apply(entry("any", apps: ["a"], scope: .any), now: now)
    #expect(resolve(book, "a", .production) == "p")
    #expect(resolve(book, "a", .sandbox) == "s")
  }

  @Test func `tokens only go forward`() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"], issuedAt: 60, generation: 5), now: now)
    #expect(book.apply(entry("k", apps: ["a"], issuedAt: 50, generation: 9), now: now) == .stale)
    #expect(book.apply(entry("k", apps: ["a"], issuedAt: 60, generation: 5), now: now) == .stale)
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 60, generation: 6), now: now)
        == .renewed(0, hasOtherApps: false))
    #expect(book.stamp(0).generation == 6)
    #expect(book.entries[0].token == Array("k#6".utf8))
  }

  @Test func `a token is usable until 55 minutes`() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    #expect(book.isUsable(0, now: now + 55 * 60_000 - 1))
    #expect(!book.isUsable(0, now: now + 55 * 60_000))
    #expect(resolve(book, "a") == "k", "still the app's credential: its records are held")
  }

  @Test func `a removed credential gives way and a tombstone clears its stamp`() {
    let book = Book()
    _ = book.apply(entry("old", apps: ["a"], generation: 3), now: now)
    _ = book.apply(entry("zzz", apps: ["a"]), now: now)
    #expect(resolve(book, "a") == "old")
    #expect(book.remove(credential: "old", now: now) == .removed(0))
    #expect(book.entries[0].apps.isEmpty)
    #expect(resolve(book, "a") == "zzz")
    #expect(!book.isUsable(0, now: now))
    #expect(book.entries[0].token.isEmpty)
    #expect(book.remove(credential: "old", now: now) == .stale)
    #expect(
      book.apply(entry("old", apps: ["a"], issuedAt: -600, generation: 2), now: now) == .added(0))
    #expect(resolve(book, "a") == "old")
  }

  @Test func `a credential that is no longer renewed gives way to a usable one`() {
    let book = Book()
    _ = book.apply(entry("a", apps: ["x"]), now: now)
    _ = book.apply(entry("b", apps: ["x"], issuedAt: 1_800), now: now + 1_800_000)
    _ = book.apply(entry("c", apps: ["*"], issuedAt: 2_400), now: now + 2_400_000)
    #expect(resolve(book, "x") == "a")
    #expect(book.refresh(now: now + 54 * 60_000) == [])
    #expect(book.refresh(now: now + 55 * 60_000) == [0])
    #expect(resolve(book, "x") == "b")
    #expect(book.refresh(now: now + 86 * 60_000) == [1])
    #expect(resolve(book, "x") == "c", "a usable * before a named app without a token")
    #expect(book.refresh(now: now + 96 * 60_000) == [2])
    #expect(resolve(book, "x") == "a", "none is usable: the named ones again")
  }

  @Test func `apps may change with a new token`() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    #expect(
      book.apply(entry("k", apps: ["b"], issuedAt: 10, generation: 2), now: now)
        == .renewed(0, hasOtherApps: true))
    #expect(resolve(book, "a") == nil)
    #expect(resolve(book, "b") == "k")
  }

  @Test func `all senders choose alike whatever the order of records`() {
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

  @Test func `hundreds of apps are all found`() {
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
    // Apps that no credential claims leave room for others.
    for round in 0..<20 {
      for number in 0..<50 {
        _ = book.remove(credential: "r\(number)", now: now)
        _ = book.apply(entry("r\(number)", apps: ["app.\(round).\(number)"]), now: now)
      }
    }
    #expect(book.rows < 1_400)
    #expect(resolve(book, "app.18.7") == nil)
    #expect(resolve(book, "app.19.7") == "r7")
    #expect(resolve(book, "com.example.app299") == "c299")
  }

  /// In processor time of this thread, which other work on the machine does not lengthen.
  @Test func `a record costs the apps of its credential and not the whole book`() {
    let book = Book()
    func apply(_ numbers: Range<Int>) -> Int {
      let entries = numbers.map { entry("c\($0)", apps: ["com.example.app\($0)"]) }
      let start = processorTime()
      for entry in entries { _ = book.apply(entry, now: now) }
      return processorTime() - start
    }
    let first = apply(0..<500)
    let others = apply(500..<5_000)
    // Nine times as many: when each cost a walk over all of them it was a hundred times as long.
    #expect(others < first * 30, "500 took \(first) ns, 4,500 more \(others) ns")
    #expect(resolve(book, "com.example.app4999") == "c4999")
  }

  /// Nanoseconds that this thread has run.
  private func processorTime() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
  }

  @Test func `a token of the future is kept aside and the last good one stays`() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    let future = entry("k", apps: ["a"], issuedAt: 86_400, generation: 2)
    #expect(book.apply(future, now: now) == .quarantined(0))
    #expect(book.stamp(0).generation == 1)
    #expect(book.isUsable(0, now: now + 30 * 60_000))
    // The signer's clock is right again: its next token is older than the one of the future.
    let next = entry("k", apps: ["a"], issuedAt: 12, generation: 3)
    #expect(book.apply(next, now: now + 12_000) == .renewed(0, hasOtherApps: false))
    #expect(book.stamp(0).generation == 3)
    #expect(book.refresh(now: now + 86_400_000) == [0], "it has expired, and nothing came back")
    #expect(book.stamp(0).generation == 3)
  }

  @Test func `a token a minute ahead is taken`() {
    let book = Book()
    #expect(book.apply(entry("k", apps: ["a"], issuedAt: 60), now: now) == .added(0))
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 61, generation: 2), now: now) == .quarantined(0))
  }

  @Test func `a clock that is behind takes tokens late and misses none`() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    // Ten minutes behind: the token of minute 45 comes in minute 35.
    let later = entry("k", apps: ["a"], issuedAt: 2_700, generation: 2)
    #expect(book.apply(later, now: now + 2_100_000) == .quarantined(0))
    #expect(book.refresh(now: now + 2_639_999) == [])
    #expect(book.refresh(now: now + 2_640_000) == [0])
    #expect(book.stamp(0).generation == 2)
  }

  @Test func `a token that a wrong clock has taken is replaced once the clock is right`() {
    let book = Book()
    let ahead: Int64 = 86_400_000
    _ = book.apply(entry("k", apps: ["a"], issuedAt: 86_400, generation: 2), now: now + ahead)
    #expect(book.isUsable(0, now: now + ahead))
    #expect(
      book.apply(entry("k", apps: ["a"], issuedAt: 10, generation: 3), now: now + 15_000)
        == .renewed(0, hasOtherApps: false))
    #expect(book.isUsable(0, now: now + 15_000))
  }

  @Test func `a credential without a token is known and takes no app from one that has one`() {
    let book = Book()
    var unreadable = entry("aaa", apps: ["a", "b"])
    unreadable.token = []
    #expect(book.apply(unreadable, now: now) == .added(0))
    #expect(book.apply(entry("future", apps: ["c"], issuedAt: 9_999), now: now) == .quarantined(1))
    #expect(resolve(book, "a") == "aaa", "its notifications are held")
    #expect(resolve(book, "c") == "future")
    #expect(!book.isUsable(0, now: now) && !book.isUsable(1, now: now))
    _ = book.apply(entry("good", apps: ["a"]), now: now)
    #expect(resolve(book, "a") == "good")
    #expect(resolve(book, "b") == "aaa")
    // Nor does it replace a token that is known.
    var broken = entry("good", apps: ["stolen"], issuedAt: 30, generation: 9)
    broken.token = []
    #expect(book.apply(broken, now: now) == .stale)
    #expect(resolve(book, "a") == "good")
    #expect(resolve(book, "stolen") == nil)
  }

  @Test func `a change by time is reported once, also when a clock is set back`() {
    let book = Book()
    _ = book.apply(entry("k", apps: ["a"]), now: now)
    #expect(book.refresh(now: now + 56 * 60_000) == [0])
    #expect(book.refresh(now: now + 57 * 60_000) == [])
    #expect(book.refresh(now: now + 10 * 60_000) == [0], "an hour ahead for a moment")
    #expect(book.isUsable(0, now: now + 10 * 60_000))
  }
}

@Suite struct ProviderTokenWatchTests {
  private let start: Int64 = 1_800_000_000

  @Test func `the watch asks at the first look that finds an old token`() {
    var book = ProviderTokenBook()
    var watch = ProviderTokenWatch()
    let wall = start * 1_000
    #expect(watch.look(at: book, now: 0, wall: wall)?.asks == [])
    _ = book.apply(
      .init(
        credential: "c", teamID: "T", keyID: "K", scope: .any, apps: ["a"],
        stamp: .init(issuedAt: start - 55 * 60, generation: 1), token: [1]), now: wall)
    #expect(watch.look(at: book, now: 1_000, wall: wall + 1_000)?.asks == [0])
    #expect(watch.look(at: book, now: 10_999, wall: wall + 10_999)?.asks == [])
    #expect(watch.look(at: book, now: 12_000, wall: wall + 12_000)?.asks == [0])
  }

  @Test func `the watch asks at 50 minutes and raises the alarm at 55 once a minute`() {
    var book = ProviderTokenBook()
    var watch = ProviderTokenWatch()
    for number in 0..<3 {
      _ = book.apply(
        .init(
          credential: "c\(number)", teamID: "T", keyID: "K", scope: .any, apps: ["a\(number)"],
          stamp: .init(issuedAt: start + Int64(number), generation: 1), token: [1]),
        now: start * 1_000)
    }
    _ = book.remove(credential: "c2", now: start * 1_000)
    var asks = 0
    var alarms: [Int64] = []
    for second in 0..<(58 * 60) as Range<Int64> {
      let wall = (start + second) * 1_000
      _ = book.refresh(now: wall)
      guard let report = watch.look(at: book, now: second * 1_000, wall: wall) else { continue }
      #expect(second >= 50 * 60 || report.asks.isEmpty)
      #expect(report.without == (second < 55 * 60 ? 0 : second == 55 * 60 ? 1 : 2))
      asks += report.asks.count
      if report.isAlarm { alarms.append(second) }
    }
    #expect(asks == 2 * 8 * 6 - 1, "both every ten seconds; one is a second younger")
    #expect(alarms == [3_300, 3_360, 3_420])
    let token = ProviderTokenBook.Entry(
      credential: "c0", teamID: "T", keyID: "K", scope: .any, apps: ["a0"],
      stamp: .init(issuedAt: start + 58 * 60, generation: 2), token: [1])
    let wall = (start + 58 * 60) * 1_000
    _ = book.apply(token, now: wall)
    #expect(watch.look(at: book, now: 58 * 60_000, wall: wall)?.isOver == false)
    _ = book.remove(credential: "c1", now: wall)
    #expect(watch.look(at: book, now: 58 * 60_000 + 1_000, wall: wall)?.isOver == true)
  }
}

/// A book that `#expect` can hold: the book itself cannot be copied.
private final class Book {
  private var book = ProviderTokenBook()

  var entries: [ProviderTokenBook.Entry] { book.entries }
  func stamp(_ index: Int) -> ProviderTokenStamp { book.stamp(index) }
  func isUsable(_ index: Int, now: Int64) -> Bool { book.isUsable(index, now: now) }
  func refresh(now: Int64) -> [Int] { book.refresh(now: now) }
  var rows: Int { book.apps.rows.count }
  func resolve(_ app: String, _ environment: Environment) -> Int? {
    book.resolve(appHash: AppHash.of(app.utf8.span), environment: environment)
  }
  func apply(_ entry: ProviderTokenBook.Entry, now: Int64) -> ProviderTokenBook.Change {
    book.apply(entry, now: now)
  }
  func apply(_ update: ProviderTokenBook.Update, now: Int64) -> ProviderTokenBook.Change {
    book.apply(update, now: now)
  }

  func remove(credential: String, now: Int64) -> ProviderTokenBook.Change {
    book.remove(credential: credential, now: now)
  }
}
