// SPDX-License-Identifier: Apache-2.0

/// Maps an app's bundle id to a small number per environment, and to all credentials that claim the app.
///
/// An app is identified by the 64-bit hash of its bundle id, so that a push carries a number instead of bytes; whoever
/// could create two bundle ids with one hash may send for both anyway.
///
/// A change costs time in proportion to its apps, not to the whole table. The table grows with the apps; rows that
/// nobody claims are removed when it grows.
public struct AppTable: Sendable {
  public struct Row: Sendable {
    public internal(set) var hash: UInt64
    /// By environment; −1 for none.
    public internal(set) var values: InlineArray<2, Int32> = [-1, -1]
    /// The credentials that list the app, whether or not one of them is chosen.
    public internal(set) var claimants: [Int32] = []

    var isVacant: Bool { claimants.isEmpty && values[0] < 0 && values[1] < 0 }
  }

  public internal(set) var rows: [Row] = []
  /// Row indices plus one; 0 for an empty slot.
  public internal(set) var places: [UInt32] = Array(repeating: 0, count: 8)
  public internal(set) var mask = 7

  public init() {}

  /// The app's number, or −1.
  public func find(_ hash: UInt64, _ environment: Environment) -> Int32 {
    let row = row(of: hash)
    return row >= 0 ? rows[row].values[Int(environment.rawValue)] : -1
  }

  /// The app's row, or −1. A row index is valid until the next app is added.
  public func row(of hash: UInt64) -> Int {
    var place = Int(truncatingIfNeeded: hash) & mask
    while places[place] != 0 {
      let row = Int(places[place]) - 1
      if rows[row].hash == hash { return row }
      place = (place + 1) & mask
    }
    return -1
  }

  /// Records that a claimant wants to serve the app.
  ///
  /// - Returns: the app's row.
  public mutating func claim(_ app: String, by claimant: Int) -> Int {
    let row = add(app)
    if !rows[row].claimants.contains(Int32(claimant)) {
      rows[row].claimants.append(Int32(claimant))
    }
    return row
  }

  /// Records that a claimant no longer serves the app.
  ///
  /// - Returns: the app's row; nil when no credential ever claimed it.
  public mutating func disclaim(_ app: String, by claimant: Int) -> Int? {
    let row = row(of: AppHash.of(app.utf8.span))
    guard row >= 0 else { return nil }
    rows[row].claimants.removeAll { $0 == Int32(claimant) }
    return row
  }

  /// Sets the number of a row in an environment; −1 for none.
  public mutating func choose(_ row: Int, _ environment: Environment, _ value: Int32) {
    rows[row].values[Int(environment.rawValue)] = value
  }

  /// Sets the app's number in an environment, unless it has one.
  public mutating func insert(_ app: String, _ environment: Environment, _ value: Int) {
    let row = add(app)
    if rows[row].values[Int(environment.rawValue)] < 0 { choose(row, environment, Int32(value)) }
  }

  private mutating func add(_ app: String) -> Int {
    let hash = AppHash.of(app.utf8.span)
    let known = row(of: hash)
    if known >= 0 { return known }
    if (rows.count + 1) * 2 > places.count { makeRoom() }
    rows.append(Row(hash: hash))
    place(rows.count - 1)
    return rows.count - 1
  }

  /// Removes unneeded rows, and leaves at least three quarters of the slots free.
  private mutating func makeRoom() {
    rows.removeAll(where: \.isVacant)
    var size = 8
    while size < (rows.count + 1) * 4 { size *= 2 }
    places = Array(repeating: 0, count: size)
    mask = size - 1
    for row in rows.indices { place(row) }
  }

  private mutating func place(_ row: Int) {
    var place = Int(truncatingIfNeeded: rows[row].hash) & mask
    while places[place] != 0 { place = (place + 1) & mask }
    places[place] = UInt32(row + 1)
  }
}
