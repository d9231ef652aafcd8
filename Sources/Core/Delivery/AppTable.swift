// SPDX-License-Identifier: Apache-2.0

package import APNS

/// From an app's bundle id, as bytes, to a small number per environment. Built once, then only searched.
package struct AppTable: Sendable {
  package struct Row: Sendable {
    /// Where the bundle id stands in `bytes`.
    @usableFromInline package internal(set) var start: Int
    @usableFromInline package internal(set) var count: Int
    @usableFromInline package internal(set) var hash: UInt64
    /// By environment; −1 for none.
    @usableFromInline package internal(set) var values: InlineArray<2, Int32>
  }

  @usableFromInline package internal(set) var rows: [Row] = []
  @usableFromInline package internal(set) var bytes: [UInt8] = []
  /// Row indices plus one; 0 is an empty place.
  @usableFromInline package internal(set) var places: [UInt32]
  @usableFromInline package internal(set) var mask: Int

  /// - Parameter apps: the most bundle ids that will be inserted.
  init(apps: Int = 0) {
    var size = 8
    while size < apps * 2 { size *= 2 }
    places = Array(repeating: 0, count: size)
    mask = size - 1
  }

  /// The app's number, or −1.
  @inlinable package func find(_ app: Span<UInt8>, _ environment: Environment) -> Int32 {
    let hash = Self.hash(app)
    var place = Int(truncatingIfNeeded: hash) & mask
    while places[place] != 0 {
      let row = Int(places[place]) - 1
      if rows[row].hash == hash && spells(row, app) {
        return rows[row].values[Int(environment.rawValue)]
      }
      place = (place + 1) & mask
    }
    return -1
  }

  /// Gives the app a number in an environment, unless it has one.
  mutating func insert(_ app: String, _ environment: Environment, _ value: Int) {
    let span = app.utf8.span
    let hash = Self.hash(span)
    var place = Int(truncatingIfNeeded: hash) & mask
    while places[place] != 0 {
      let row = Int(places[place]) - 1
      if rows[row].hash == hash && spells(row, span) {
        if rows[row].values[Int(environment.rawValue)] < 0 {
          rows[row].values[Int(environment.rawValue)] = Int32(value)
        }
        return
      }
      place = (place + 1) & mask
    }
    var values: InlineArray<2, Int32> = [-1, -1]
    values[Int(environment.rawValue)] = Int32(value)
    rows.append(Row(start: bytes.count, count: span.count, hash: hash, values: values))
    bytes.append(contentsOf: app.utf8)
    places[place] = UInt32(rows.count)
  }

  /// Replaces the numbers of an environment for which `isBetter(number, other)` says so by `other`.
  mutating func prefer(
    _ other: Int32, _ environment: Environment, isBetter: (Int, Int) -> Bool
  ) {
    guard other >= 0 else { return }
    for row in rows.indices {
      let value = rows[row].values[Int(environment.rawValue)]
      if value >= 0 && isBetter(Int(value), Int(other)) {
        rows[row].values[Int(environment.rawValue)] = other
      }
    }
  }

  @inlinable package func spells(_ row: Int, _ app: Span<UInt8>) -> Bool {
    guard rows[row].count == app.count else { return false }
    let start = rows[row].start
    for index in 0..<app.count where bytes[start + index] != app[index] { return false }
    return true
  }

  /// FNV-1a with a last mix, for bundle ids of some 20 bytes.
  @inlinable package static func hash(_ app: Span<UInt8>) -> UInt64 {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    for index in 0..<app.count {
      hash = (hash ^ UInt64(app[index])) &* 0x0000_0100_0000_01B3
    }
    return hash ^ (hash >> 29)
  }
}
