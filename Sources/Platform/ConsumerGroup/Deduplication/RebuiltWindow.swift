// SPDX-License-Identifier: Apache-2.0

public import APNS

/// One partition's window of `apns-id`s while they are read again, the newest part of the log first (`RebuildPlan`).
///
/// A full window forgets the ids that were put in first, so they are put in as they lie in the log.
public struct RebuiltWindow: Sendable {
  /// A record that is read again.
  public struct Record: Sendable {
    public let id: NotificationID
    /// A hash of its device, app and key, 0 without a key, and its place among the pushes with the same one.
    public let identity: UInt64
    public let position: Int64
    /// A part of its `apns-id`.
    public let push: UInt32
    /// A hash of its payload.
    public let payload: UInt16
    /// The last state of its identity, under which its end is known, too; 0 if it is none.
    public let end: UInt64

    /// - Parameters:
    ///   - id: under which it counts as taken.
    ///   - identity: a hash of its device, app and key; 0 without a key.
    ///   - position: its place in its lane; −1: that of the record.
    ///   - push: a part of its `apns-id`; 0 if that is of no use.
    ///   - payload: a hash of its payload.
    ///   - end: the number under which the end of its states is known, if it is that.
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

    func place(at offset: Int64) -> Int64 { position < 0 ? offset : min(position, offset) }
  }

  /// Ids of records from before those that are read again.
  private let kept: DedupWindow
  /// The same, and what was read of the older part.
  private var older: DedupWindow
  private var newest: DedupWindow
  /// Ids that the newest part says are free again, for what is before it.
  private var freed: Set<NotificationID> = []
  private let newestBegins: Int64
  private let hasKept: Bool
  /// The first offset that is read again, and where reading goes on.
  private let begin: Int64
  private let end: Int64
  /// The records that have a key, from there, too, in whatever order they come.
  private var keyed: [(offset: Int64, record: Record)] = []

  /// - Parameters:
  ///   - kept: ids of records from before `missing`; nil without any.
  ///   - missing: offsets whose ids are read again.
  ///   - capacity: ids to remember, 1 … 2³⁰.
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

  /// Takes in a record. One that is read a second time changes nothing.
  public mutating func insert(_ record: Record, at offset: Int64) {
    if record.identity != 0 { keyed.append((offset, record)) }
    guard offset < end else { return }
    if offset < newestBegins {
      _ = older.insert(record.id, payload: record.payload)
    } else {
      _ = newest.insert(record.id, payload: record.payload)
    }
  }

  /// Takes in a record that says that an id is free again: of what was before it.
  public mutating func free(_ id: NotificationID, at offset: Int64) {
    guard offset < end else { return }
    if offset < newestBegins {
      older.free(id)
    } else {
      newest.free(id)
      freed.insert(id)
    }
  }

  /// The ids in the order of the log; without those of the older part while not all of it has been read.
  public func window(isWhole: Bool) -> DedupWindow {
    var window = isWhole ? older : kept
    for id in freed { window.free(id) }
    newest.visit { _ = window.insert($0, payload: $1) }
    if isWhole { addStates(to: &window) }
    return window
  }

  /// Notes the states, also those that are still to come and may have been sent before. A repeat is none: it would supersede
  /// what it repeats.
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
