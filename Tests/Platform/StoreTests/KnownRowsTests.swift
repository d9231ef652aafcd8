// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

/// Rows that were judged are not read again as long as they are what the database has.
@Suite struct KnownRowsTests {
  private let folder = TemporaryFolder()
  private let device = DeviceKey(token: "00ff", app: "a.b", environment: .production)
  private let other = DeviceKey(token: "11ff", app: "a.b", environment: .production)

  private func registered(_ time: Int64) -> DeviceState {
    DeviceState(presence: .registered(at: time))
  }

  @Test(arguments: DatabaseKind.allCases)
  func `what others write meanwhile is seen`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let (store, second) = (try TokenStore(location, now: 1), try TokenStore(location, now: 1))
    #expect(try store.rows(of: [device], remembering: true)[device].isEmpty)
    try second.put(device, registered(5))
    #expect(try store.rows(of: [device])[device] == registered(5))
    #expect(try store.rows(of: [device, other], remembering: true)[device] == registered(5))
    try store.put(device, registered(7))
    try store.put(other, registered(8))
    let rows = try store.rows(of: [other, device])
    #expect(rows[device] == registered(7) && rows[other] == registered(8))
    #expect(rows.asked.map { rows.device($0) } == [other, device])
    #expect(try second.device(device) == registered(7))
    try store.startOver(at: 9)
    #expect(try store.rows(of: [device])[device].isEmpty)
  }

  @Test func `a transaction that fails leaves nothing`() throws {
    let store = try TokenStore(folder.file("tokens.db"), now: 1)
    _ = try store.rows(of: [device], remembering: true)
    #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in
        var rows = try store.rows(of: [device])
        rows[device] = registered(5)
        try store.write(rows)
        throw StoreError(code: 1, attempt: "write", message: "full")
      }
    }
    #expect(try store.rows(of: [device])[device].isEmpty)
  }

  @Test func `rows of an earlier look are written after a later one`() throws {
    let store = try TokenStore(folder.file("tokens.db"), now: 1)
    _ = try store.rows(of: [other, device], remembering: true)
    var rows = try store.rows(of: [device])
    _ = try store.rows(of: [other], remembering: true)
    rows[device] = registered(5)
    rows[other] = registered(6)
    try store.write(rows)
    let after = try store.rows(of: [device, other, device])
    #expect(after[device] == registered(5) && after[other] == registered(6))
    #expect(after.asked == [0, 1, 0])
  }

  @Test(arguments: DatabaseKind.allCases)
  func `a copy of topics may be written without waiting for the disk`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    for isCopy in [true, false, true] {
      try store.transaction(isCopy: isCopy) { () throws(StoreError) in
        try store.put(device, registered(isCopy ? 3 : 4))
      }
      #expect(try TokenStore(location, now: 1).device(device) == registered(isCopy ? 3 : 4))
    }
  }
}
