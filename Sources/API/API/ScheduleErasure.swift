// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import Store

/// The changes of the schedule when a user and devices are erased: requests without another recipient are cancelled,
/// others continue without them, and the last states of the user's activities end.
struct ScheduleErasure: Sendable {
  static let limit = 1_000

  struct Change: Sendable {
    enum Kind: Sendable {
      case cancel
      case replace([UInt8])
      /// Write a tombstone for only this value.
      case end(identity: Int64)
    }

    let key: ScheduleKey
    let kind: Kind
  }

  private(set) var changes: [Change] = []
  private(set) var hasMore = false

  /// Searches the whole schedule.
  ///
  /// - Parameter apps: the apps whose requests are changed; nil for all.
  init(
    of user: ExactText, _ devices: [DeviceKey], apps: Set<ExactText>?, in schedule: ScheduleQueries
  ) throws(StoreError) {
    let tokens = Set(devices.map(\.token.exact))
    let parser = JSONParser()
    var seen: Set<[UInt8]> = []
    try schedule.forEachEntry(naming: user, tokens) { entry in
      guard let key = ScheduleKey(entry.key), apps?.contains(key.app.exact) ?? true,
        let change = Self.change(entry, key, user, tokens, parser), seen.insert(key.bytes).inserted
      else { return true }
      guard changes.count < Self.limit else {
        hasMore = true
        return false
      }
      changes.append(change)
      return true
    }
  }

  private static func change(
    _ entry: ScheduledEntry, _ key: ScheduleKey, _ user: ExactText, _ tokens: Set<ExactText>,
    _ parser: JSONParser
  ) -> Change? {
    let rest = Array(entry.value.utf8).withUnsafeBytes {
      ErasedRequest($0, key: key, without: user, tokens, parser)
    }
    switch rest {
    case .untouched: return nil
    case .rest(let value): return Change(key: key, kind: .replace(value))
    case .gone:
      return Change(
        key: key,
        kind: entry.row.isCancellation ? .end(identity: entry.row.identity) : .cancel)
    }
  }
}
