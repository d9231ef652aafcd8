// SPDX-License-Identifier: Apache-2.0
public import Contract

/// The number of devices in each state, or the change of it.
public struct DeviceCounts: Equatable, Sendable {
  public var registered = 0
  public var removed = 0
  public var invalid = 0

  public subscript(word: DeviceState.Word) -> Int {
    get {
      switch word {
      case .registered: registered
      case .removed: removed
      case .invalid: invalid
      }
    }
    set {
      switch word {
      case .registered: registered = newValue
      case .removed: removed = newValue
      case .invalid: invalid = newValue
      }
    }
  }

  /// A device changes its state; nil: there is no row.
  mutating func move(from old: DeviceState.Word?, to new: DeviceState.Word?) {
    if let old { self[old] -= 1 }
    if let new { self[new] += 1 }
  }
}

extension TokenStore {
  public func deviceCounts() throws(StoreError) -> DeviceCounts { try counts.read() }
}

struct CountStatements {
  private let select: Statement
  private let update: Statement

  init(_ database: Database) throws(StoreError) {
    select = try database.prepare(Self.selectSQL)
    update = try database.prepare("UPDATE device_counts SET count = count + ?2 WHERE state = ?1")
  }

  static let selectSQL = "SELECT state, count FROM device_counts"

  func read() throws(StoreError) -> DeviceCounts { try Self.read(select) }

  static func read(_ select: Statement) throws(StoreError) -> DeviceCounts {
    var counts = DeviceCounts()
    while try select.next() {
      guard let word = DeviceState.Word(rawValue: select.text(0)) else { continue }
      counts[word] = Int(select.integer(1) ?? 0)
    }
    return counts
  }

  /// In the transaction that changes the rows.
  func add(_ change: DeviceCounts) throws(StoreError) {
    for word in DeviceState.Word.allCases where change[word] != 0 {
      update.bind(1, word.rawValue)
      update.bind(2, Int64(change[word]))
      try update.run()
    }
  }
}
