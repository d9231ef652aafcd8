// SPDX-License-Identifier: Apache-2.0

public import APNS

/// One partition's window of `apns-id`s while they are read again, the newest part of the log first (`RebuildPlan`).
///
/// A full window forgets the ids that were put in first, so they are put in as they lie in the log.
public struct RebuiltWindow: Sendable {
  /// Ids of records from before those that are read again.
  private let kept: DedupWindow
  /// The same, and what was read of the older part.
  private var older: DedupWindow
  private var newest: DedupWindow
  private let newestBegins: Int64

  /// - Parameters:
  ///   - kept: ids of records from before `missing`; nil without any.
  ///   - missing: offsets whose ids are read again.
  ///   - capacity: ids to remember, 1 … 2³⁰.
  public init(kept: DedupWindow?, missing: Range<Int64>, capacity: Int) {
    self.kept = kept ?? DedupWindow(capacity: capacity)
    older = self.kept
    let newestPart = RebuildPlan<Int>.newest(of: missing)
    newest = DedupWindow(capacity: min(max(Int(clamping: newestPart.count), 1), capacity))
    newestBegins = newestPart.lowerBound
  }

  /// Takes in a record's id. One that is read a second time changes nothing.
  public mutating func insert(_ id: NotificationID, at offset: Int64) {
    if offset < newestBegins { _ = older.insert(id) } else { _ = newest.insert(id) }
  }

  /// The ids in the order of the log; without those of the older part while not all of it has been read.
  public func window(isWhole: Bool) -> DedupWindow {
    var window = isWhole ? older : kept
    newest.visit { _ = window.insert($0) }
    return window
  }
}
