// SPDX-License-Identifier: Apache-2.0
import Contract
import GatewayModel
import Testing
import Waiting

@Suite struct NotificationStoreTests {
  private static let now: Int64 = 1_795_000_000_000
  private static let day: Int64 = 86_400_000

  private func push(
    _ number: UInt64, token: String = "ab", app: String = "com.x", collapse: String? = nil,
    priority: UInt8 = 10, expiration: Int64? = nil, at time: Int64 = now
  ) -> AcceptedPush {
    AcceptedPush(
      id: SpelledID(NotificationID(high: 0, low: number)), token: Array(token.utf8),
      app: Array(app.utf8), collapseID: collapse.map { Array($0.utf8) }, priority: priority,
      expiration: expiration, receivedAt: time)
  }

  @Test func `only a notification that cannot reach its device waits`() {
    var store = NotificationStore()
    let rules = GatewayRules()
    #expect(store.accept(push(1), state: .active, rules) == .delivered)
    #expect(store.accept(push(2), state: .offline, rules) == .stored)
    #expect(store.accept(push(3, app: "b"), state: .powerRestricted, rules) == .delivered)
    #expect(store.accept(push(4, app: "b", priority: 5), state: .powerRestricted, rules) == .stored)
    #expect(store.accept(push(5), state: .bad, rules) == .discarded)
    #expect(store.count == 2)
  }

  @Test func `one for each device and app, the newest`() {
    var store = NotificationStore()
    for number in UInt64(1)...5 {
      #expect(store.accept(push(number), state: .offline, GatewayRules()) == .stored)
    }
    _ = store.accept(push(6, app: "other"), state: .offline, GatewayRules())
    _ = store.accept(push(7, token: "cd"), state: .offline, GatewayRules())
    #expect(store.overwritten == 4)
    let given = store.release(Array("ab".utf8), now: Self.now)
    #expect(given.map(\.id.id.low).sorted() == [5, 6])
    #expect(store.release(Array("ab".utf8), now: Self.now) == [])
    #expect(store.count == 1)
  }

  @Test(.timeLimit(.minutes(1)))
  func `many devices that come online one by one do not take the time of all for each`() {
    var store = NotificationStore()
    let tokens = (0..<30_000).map { "\($0)" }
    for (number, token) in tokens.enumerated() {
      _ = store.accept(push(UInt64(number), token: token), state: .offline, GatewayRules())
    }
    var wrong = 0
    for (number, token) in tokens.enumerated() {
      let given = store.release(Array(token.utf8), now: Self.now)
      if given.map(\.id.id.low) != [UInt64(number)] { wrong += 1 }
    }
    #expect(wrong == 0 && store.count == 0)
  }

  @Test func `one for each collapse id, if the rules say so`() {
    var rules = GatewayRules()
    rules.storedNotifications = .perCollapseID
    var store = NotificationStore()
    for (number, collapse) in [(1, "a"), (2, "b"), (3, "a"), (4, nil), (5, nil)] {
      _ = store.accept(push(UInt64(number), collapse: collapse), state: .offline, rules)
    }
    #expect(store.waiting(now: Self.now).map(\.id.id.low).sorted() == [2, 3, 5])
  }

  @Test func `without an expiration it is tried once, if the rules say so`() {
    var rules = GatewayRules()
    rules.absentExpiration = .once
    var store = NotificationStore()
    #expect(store.accept(push(1), state: .offline, rules) == .discarded)
    let later = Self.now / 1_000 + 60
    #expect(store.accept(push(2, expiration: later), state: .offline, rules) == .stored)
  }

  @Test func `not always the newest notification is kept, if the rules say so`() {
    var rules = GatewayRules()
    rules.storeKeepsOlder = 30
    var store = NotificationStore()
    _ = store.accept(push(1), state: .offline, rules)
    #expect(store.accept(push(2), state: .offline, rules, roll: 29) == .discarded)
    #expect(store.accept(push(3), state: .offline, rules, roll: 30) == .stored)
    #expect(store.waiting(now: Self.now).map(\.id.id.low) == [3])
  }

  @Test func `a notification waits until its expiration, 30 days at most, and not at all with 0`() {
    let (now, month) = (Self.now, Self.now + 30 * Self.day)
    let expirations: [Int64?] = [nil, 0, now / 1_000 + 60, now / 1_000 + 40 * 86_400, .max]
    let ends: [Int64?] = [month, nil, now + 60_000, month, month]
    for (expiration, end) in zip(expirations, ends) {
      #expect(NotificationStore.end(of: push(1, expiration: expiration), GatewayRules()) == end)
    }
  }

  @Test func `a notification that has expired is not delivered`() {
    var store = NotificationStore()
    let rules = GatewayRules()
    #expect(store.accept(push(1, expiration: 0), state: .offline, rules) == .discarded)
    #expect(
      store.accept(push(2, expiration: Self.now / 1_000 - 5), state: .offline, rules) == .discarded)
    #expect(
      store.accept(push(3, expiration: Self.now / 1_000 + 5), state: .offline, rules) == .stored)
    #expect(store.waiting(now: Self.now + 5_000).isEmpty)
    #expect(store.release(Array("ab".utf8), now: Self.now + 5_000) == [])
    #expect(store.expired == 1)
  }

  @Test func `an uninstalled app's notifications are gone, and the store is bounded`() {
    var store = NotificationStore(limit: 2)
    for number in UInt64(1)...2 {
      #expect(
        store.accept(push(number, app: "app\(number)"), state: .offline, GatewayRules()) == .stored)
    }
    #expect(store.accept(push(3, app: "app3"), state: .offline, GatewayRules()) == .discarded)
    store.drop(Array("ab".utf8))
    #expect(store.count == 0)
  }

  @Test func `seeded runs: at most one per device and app, and never one that was released`() {
    for seed in UInt64(1)...100 {
      var random = SeededGenerator(seed: seed)
      var store = NotificationStore()
      var newest: [String: UInt64] = [:]
      for number in UInt64(1)...300 {
        let token = ["aa", "bb", "cc"][Int(random.next() % 3)]
        if random.next() % 4 == 0 {
          let given = store.release(Array(token.utf8), now: Self.now).map(\.id.id.low).sorted()
          let wanted = newest.filter { $0.key.hasPrefix(token) }.map(\.value).sorted()
          #expect(given == wanted, "seed \(seed)")
          newest = newest.filter { !$0.key.hasPrefix(token) }
        } else {
          let app = ["x", "y"][Int(random.next() % 2)]
          _ = store.accept(push(number, token: token, app: app), state: .offline, GatewayRules())
          newest["\(token) \(app)"] = number
        }
        #expect(store.count == newest.count, "seed \(seed)")
      }
    }
  }

  private func delivery(
    _ number: UInt64, at time: Int64, token: String = "ab", collapse: String? = nil
  ) -> Delivery {
    Delivery(push(number, token: token, collapse: collapse), deliveredAt: time)
  }

  @Test func `the user sees the newest of each collapse id, and a duplicate as one`() {
    let lines = DeliveryView.lines([
      delivery(3, at: 30, collapse: "a"), delivery(1, at: 10, collapse: "a"),
      delivery(2, at: 20), delivery(2, at: 25), delivery(4, at: 5, token: "cd", collapse: "a"),
      delivery(5, at: 40, collapse: "b"),
    ])
    #expect(lines.map(\.delivery.id.id.low) == [4, 1, 2, 2, 3, 5])
    #expect(lines.map(\.isReplaced) == [false, true, false, false, false, false])
    #expect(lines.map(\.isDuplicate) == [false, false, false, true, false, false])
  }

  @Test func `a registry finds its tokens in either case`() {
    var devices = DeviceRegistry()
    devices.declare(DeclaredToken(token: "ABCD", state: .offline, topic: "t"))
    let found = ["aBcD", "abce"].map { devices.find(Array($0.utf8).span)?.state }
    #expect(found == [.offline, nil])
    devices.declare(DeclaredToken(token: "abcd", state: .active))
    #expect(devices.count == 1)
    let again = devices.find(Array("abcd".utf8).span)
    #expect(again?.topic == nil)
  }
}
