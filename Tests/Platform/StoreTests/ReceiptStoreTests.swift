// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

@Suite struct ReceiptStoreTests {
  private let folder = TemporaryFolder()

  private func receipt(
    _ number: Int, at time: Int64, app: String = "a", id: String? = nil, apnsID: String? = nil
  ) -> KeptReceipt {
    KeptReceipt(
      place: .init(partition: 3, offset: Int64(number / 10), line: number % 10), at: time, app: app,
      requestID: id, apnsID: apnsID, receipt: #"{"n":\#(number),"x":"é\\","y":"{,}"}"#)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `receipts are found by request and by apns-id, in the order of their times, each line once`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let queries = try TokenQueries(location)
    let all = [
      receipt(1, at: 20, id: "order", apnsID: "u1"), receipt(2, at: 10, id: "order", apnsID: "u2"),
      receipt(3, at: 30, app: "b", id: "order"), receipt(4, at: 40, apnsID: "order"),
      receipt(5, at: 50, id: "other", apnsID: "u5"),
    ]
    for _ in 0..<2 { try store.transaction { () throws(StoreError) in try store.keep(all) } }
    try store.keep([])
    let found = try queries.outcomes(of: "order", apps: nil, limit: 10)
    #expect(found.map(\.receipt) == [2, 1, 3, 4].map { all[$0 - 1].receipt })
    #expect(found.map(\.app) == ["a", "a", "b", "a"])
    #expect(try queries.outcomes(of: "u2", apps: nil, limit: 10).map(\.receipt) == [all[1].receipt])
    #expect(try queries.outcomes(of: "order", apps: nil, limit: 1).count == 1)
    #expect(try queries.outcomes(of: "order", apps: ["b", "c"], limit: 1).map(\.app) == ["b"])
    #expect(try queries.outcomes(of: "order", apps: ["a"], limit: 10).count == 3)
    #expect(try queries.outcomes(of: "order", apps: ["c"], limit: 10).isEmpty)
    #expect(try queries.outcomes(of: "order", apps: [], limit: 10).isEmpty)
    #expect(try queries.outcomes(of: "none", apps: nil, limit: 10).isEmpty)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `an apns-id is found in either case, a request id only as it is written`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let queries = try TokenQueries(location)
    let ids = ["0c8e2c5c-5c43-5d5e-8a1e-6c1b0f0b7f6a", "B05D4A9E-0A3B-4A4E-9B57-3FB2A3A4D3C1"]
    try store.transaction { () throws(StoreError) in
      try store.keep([receipt(1, at: 1, id: ids[1], apnsID: ids[0])])
    }
    func count(_ id: String) throws -> Int {
      try queries.outcomes(of: id.exact, apps: ["a"], limit: 10).count
    }
    for id in [ids[0], ids[0].uppercased(), ids[1]] { #expect(try count(id) == 1, "\(id)") }
    #expect(try count(ids[1].lowercased()) == 0)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `the oldest receipts go first, a bounded number at a time, and nothing newer`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    try store.keep((0..<100).map { receipt($0, at: Int64(99 - $0), id: "r") })
    #expect(try store.removeReceipts(before: 60, limit: 25) == 25)
    #expect(try store.database.integer("SELECT min(at) FROM receipts") == 25)
    #expect(try store.removeReceipts(before: 60, limit: 100) == 35)
    #expect(try store.removeReceipts(before: 60, limit: 100) == 0)
    #expect(try store.database.integer("SELECT count(*) FROM receipts") == 40)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `the database notes since when receipts are kept, until the last one is gone`(
    kind: DatabaseKind
  ) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let queries = try TokenQueries(location)
    #expect(try queries.receiptKeeping() == nil)
    try store.set(ReceiptKeeping(since: 5, retention: 100))
    try store.set(ReceiptKeeping(since: 9, retention: 200))
    #expect(try queries.receiptKeeping() == ReceiptKeeping(since: 5, retention: 200))
    try store.keep([receipt(1, at: 3, id: "r")])
    try store.endReceiptKeeping()
    #expect(try store.receiptKeeping() != nil)
    _ = try store.removeReceipts(before: 10, limit: 10)
    try store.endReceiptKeeping()
    #expect(try store.receiptKeeping() == nil)
  }
}
