// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

@Suite struct DeviceRowsTests {
  private let folder = TemporaryFolder()

  private func device(_ number: Int) -> DeviceKey {
    DeviceKey(
      token: String(number + 0x1000, radix: 16), app: number % 3 == 0 ? "a" : "b",
      environment: number % 2 == 0 ? .sandbox : .production)
  }

  @Test(arguments: DatabaseKind.allCases)
  func `many rows are read, changed, removed and written at once`(kind: DatabaseKind) throws {
    let location = try kind.location(in: folder)
    let store = try TokenStore(location, now: 1)
    let mark = DeviceState.Mark(since: 5, aliveFrom: 9, reason: "Unregistered", recordedAt: 7)
    let all = (0..<1_000).map(device)
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: all)
      for number in 0..<900 {
        rows[device(number)] = DeviceState(
          presence: number % 4 == 0 ? nil : .registered(at: Int64(number)),
          mark: number % 5 == 0 ? mark : nil)
      }
      try store.write(rows)
    }
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: all)
      for number in 0..<900 {
        let expected = DeviceState(
          presence: number % 4 == 0 ? nil : .registered(at: Int64(number)),
          mark: number % 5 == 0 ? mark : nil)
        #expect(rows[device(number)] == expected)
        if number % 7 == 0 { rows[device(number)] = DeviceState() }
        if number % 7 == 1 { rows[device(number)] = DeviceState(presence: .removed(at: 3)) }
      }
      #expect(rows[device(950)].isEmpty)
      try store.write(rows)
    }
    let rows = try store.rows(of: all)
    for number in 0..<900 where number % 7 < 2 {
      #expect(rows[device(number)].isEmpty == (number % 7 == 0))
      #expect(try store.device(device(number)) == rows[device(number)])
    }
    #expect(try store.rows(of: [])[device(1)].isEmpty)
    try store.write(store.rows(of: []))
  }
}
