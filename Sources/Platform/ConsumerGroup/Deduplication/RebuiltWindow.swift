// SPDX-License-Identifier: Apache-2.0

public import Contract

/// One partition's dedup window while its records are read again, the newest part of the log first (`RebuildPlan`).
///
/// A full window evicts the ids that were inserted first, so they are inserted in log order.
public struct RebuiltWindow: Sendable {
  /// A record that was read again.
  public struct Record: Sendable {
    public let id: NotificationID
    /// A hash of its device, app and key, 0 without a key, and its position among the pushes with the same one.
    public let identity: UInt64
    public let position: Int64
    /// A part of its `apns-id`.
    public let push: UInt32
    /// A hash of its payload.
    public let payload: UInt16
    /// The number of its identity's final state, under which its end is recorded, too; 0 if this is not the final
    /// state.
    public let end: UInt64

    /// - Parameters:
    ///   - id: the id for which it counts as processed.
    ///   - identity: a hash of its device, app and key; 0 without a key.
    ///   - position: its position in its lane; −1: that of the record.
    ///   - push: a part of its `apns-id`; 0 if not needed.
    ///   - payload: a hash of its payload.
    ///   - end: the number under which the end of its states is recorded, if it is the final state.
    public init(
      _ id: NotificationID, identity: UInt64 = 0, position: Int64 = -1, push: UInt32 = 0,
      payload: UInt16 = 0, end: UInt64 = 0
    ) {
      self.payload = payload
      self.id = id
      self.identity = identity
      self.position = position
      self.push = push
      self.end = end
    }

    func place(at offset: Int64) -> Int64 { NewestStates.position(ofFirst: position, at: offset) }
  }

  /// The ids of records before the range that is read again.
  private let kept: DedupWindow
  /// Those ids and what was read of the older part.
  private var older: DedupWindow
  private var newest: DedupWindow
  /// Ids that the newest part frees, for records before it.
  private var freed: Set<NotificationID> = []
  private let newestBegins: Int64
  private let hasKept: Bool
  /// The first offset that is read again, and the resume position.
  private let begin: Int64
  private let end: Int64
  /// The records with a key from that range, in any order.
  private var keyed: [(offset: Int64, record: Record)] = []

  /// - Parameters:
  ///   - kept: the ids of records before `missing`; nil without any.
  ///   - missing: the offsets whose ids are read again.
  public init(kept: DedupWindow?, missing: Range<Int64>, capacity: Int) {
    self.kept = kept ?? DedupWindow(capacity: capacity)
    older = self.kept
    end = missing.upperBound
    begin = missing.lowerBound
    hasKept = kept != nil
    let newestPart = RebuildPlan<Int>.newest(of: missing)
    newest = DedupWindow(capacity: min(max(Int(clamping: newestPart.count), 1), capacity))
    newestBegins = newestPart.lowerBound
  }

  /// Adds a record. One that is read a second time changes nothing.
  public mutating func insert(_ record: Record, at offset: Int64) {
    if record.identity != 0 { keyed.append((offset, record)) }
    guard offset < end else { return }
    if offset < newestBegins {
      _ = older.insert(record.id, payload: record.payload)
    } else {
      _ = newest.insert(record.id, payload: record.payload)
    }
  }

  /// Adds a record that frees an id, for records before it.
  public mutating func free(_ id: NotificationID, at offset: Int64) {
    guard offset < end else { return }
    if offset < newestBegins {
      older.free(id)
    } else {
      newest.free(id)
      freed.insert(id)
    }
  }

  /// The ids in log order, without those of the older part until all of it has been read.
  public func window(isWhole: Bool) -> DedupWindow {
    var window = isWhole ? older : kept
    for id in freed { window.free(id) }
    newest.visit { _ = window.insert($0, payload: $1) }
    if isWhole { addStates(to: &window) }
    return window
  }

  /// Notes the states, including those still to come that may have been sent already. Duplicates are skipped: they
  /// would supersede the push that they duplicate.
  private func addStates(to window: inout DedupWindow) {
    if !hasKept { window.states.forget(through: begin - 1) }
    var seen: Set<NotificationID> = []
    for (offset, record) in keyed.sorted(by: { $0.offset < $1.offset })
    where seen.insert(record.id).inserted && !kept.contains(record.id) {
      let place = record.place(at: offset)
      window.states.note(record.identity, at: place, of: record.push)
      if record.end != 0 { window.states.note(record.end, at: place, of: record.push) }
    }
  }
}
