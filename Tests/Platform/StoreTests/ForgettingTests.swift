// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

@Suite struct ForgettingTests {
  private let folder = TemporaryFolder()

  private func receipt(_ number: Int, _ app: String, _ token: String?) -> KeptReceipt {
    let token = token.map { #","token":"\#($0)""# } ?? ""
    return KeptReceipt(
      place: .init(partition: 1, offset: Int64(number), line: 1), at: Int64(number / 3), app: app,
      requestID: "r\(number)", apnsID: nil, receipt: #"{"app":"\#(app)"\#(token),"data":"\u0000"}"#)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a walk removes the receipts of the devices that were forgotten before it, and no others`(
    kind: DatabaseKind
  ) throws {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    let gone = DeviceKey(token: "aa", app: "a", environment: .production)
    let later = DeviceKey(token: "dd", app: "a", environment: .production)
    // Without receipts there is nothing to look for.
    try store.forget(gone, at: 100, tombstone: 100)
    #expect(try store.firstForgotten() == nil)
    try store.set(ReceiptKeeping(since: 1, retention: 100))
    let all = (0..<50).map { number in
      [
        receipt(number, "a", "aa"), receipt(number, "b", "aa"), receipt(number, "a", "bb"),
        receipt(number, "a", nil),
      ][number % 4]
    }
    try store.transaction { () throws(StoreError) in try store.keep(all) }
    try store.forget(gone, at: 100, tombstone: 100)
    try store.forget(later, at: 200, tombstone: 200)
    #expect(try store.firstForgotten() == 100)
    var (place, removed, pages): (ReceiptPlace?, Int, Int) = (nil, 0, 0)
    repeat {
      let page = try store.removeForgottenReceipts(after: place, limit: 7)
      place = page.end
      removed += page.removed
      pages += 1
    } while place != nil
    #expect(removed == 13 && pages == 8)
    #expect(try store.database.integer("SELECT count(*) FROM receipts") == 37)
    let rest = try store.database.integer(
      "SELECT count(*) FROM receipts WHERE app = 'a' AND receipt LIKE '%\"aa\"%'")
    #expect(rest == 0)
    try store.endForgetting(before: 150)
    #expect(try store.firstForgotten() == 200)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a device forgotten by a clock that was ahead is forgotten now`(kind: DatabaseKind) throws {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    try store.set(ReceiptKeeping(since: 1, retention: 100))
    for (token, time) in [("aa", 900), ("bb", 500), ("cc", 50)] as [(String, Int64)] {
      try store.forget(
        DeviceKey(token: token, app: "a", environment: .production), at: time, tombstone: time)
    }
    try store.boundForgetting(by: 100)
    #expect(try store.firstForgotten() == 50)
    try store.endForgetting(before: 100)
    #expect(try store.firstForgotten() == 100)
    try store.endForgetting(before: 101)
    #expect(try store.firstForgotten() == nil)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a suspicion goes with its device`(kind: DatabaseKind) throws {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    let devices = ["aa", "bb"].map { DeviceKey(token: $0, app: "a", environment: .production) }
    for device in devices {
      try store.put(
        device, Suspicion(firstAt: 1, lastAt: 2, lastSentAt: 1, count: 1, reason: "BadDeviceToken"))
    }
    try store.forget(devices[0], at: 5, tombstone: 5)
    #expect(try store.suspicion(devices[0]) == nil)
    #expect(try store.suspicion(devices[1]) != nil)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a tombstone that is read again forgets nothing of the registration behind it`(
    kind: DatabaseKind
  ) throws {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    let device = DeviceKey(token: "aa", app: "a", environment: .production)
    let (removed, later) = (Int64(1_000), 1_001 + OutsideTime.skew)
    try store.set(ReceiptKeeping(since: 1, retention: 100))
    try store.put(
      device,
      Suspicion(firstAt: 1, lastAt: later, lastSentAt: 1, count: 1, reason: "BadDeviceToken"))
    let receipts = [removed, later].map { time in
      KeptReceipt(
        place: .init(partition: 0, offset: time, line: 1), at: time, app: "a", requestID: nil,
        apnsID: nil, receipt: #"{"token":"aa"}"#)
    }
    try store.transaction { () throws(StoreError) in try store.keep(receipts) }
    // An older tombstone behind it takes nothing back.
    for time in [removed, 1] { try store.forget(device, at: later + 5, tombstone: time) }
    #expect(try store.suspicion(device) != nil)
    #expect(try store.firstForgotten() == later + 5)
    #expect(try store.removeForgottenReceipts(after: nil, limit: 10).removed == 1)
    #expect(try store.database.integer("SELECT at FROM receipts") == later)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `suspicions go when they are old, except those of a wave that may still be released`(
    kind: DatabaseKind
  ) throws {
    let store = try TokenStore(try kind.location(in: folder), now: 1)
    func device(_ token: String) -> DeviceKey {
      DeviceKey(token: token, app: "a", environment: .production)
    }
    for (token, time, isHeld) in [
      ("aa", 10, false), ("bb", 100, false), ("cc", 20, true), ("dd", 60, true),
    ] as [(String, Int64, Bool)] {
      try store.put(
        device(token),
        Suspicion(
          firstAt: 1, lastAt: time, lastSentAt: 1, count: 1, reason: "BadDeviceToken",
          isHeld: isHeld))
    }
    try store.put("a", .production, BadTokenWave(from: 15, until: 25))
    #expect(try store.removeSuspicions(before: 100, limit: 1) == 1)
    #expect(try store.removeSuspicions(before: 100, limit: 10) == 1)
    #expect(try store.suspicion(device("bb")) != nil)
    #expect(try store.suspicion(device("cc")) != nil)
    for undecided in [1, 0] {
      let decision = BadTokenWave.Decision(.rejected, at: 150)
      #expect(try store.decide("a", .production, decision, by: "x") == undecided)
    }
    #expect(try store.removeSuspicions(before: 100, limit: 10) == 0)
    #expect(try store.removeSuspicions(before: 151, limit: 10) == 2)
  }
}
