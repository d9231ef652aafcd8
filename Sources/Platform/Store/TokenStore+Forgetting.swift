// SPDX-License-Identifier: Apache-2.0
public import Contract

/// A place in the order of the receipts: that of their times.
public struct ReceiptPlace: Equatable, Sendable {
  let at: Int64
  let line: KeptReceipt.LineID
}

/// The removal of what the database knows of a device besides its row: suspicions at once, receipts in a walk over all of
/// them, for no index finds them by their token.
extension TokenStore {
  /// Forgets the suspicion of a device, and notes that its receipts are to be removed if there can be any; in the caller's
  /// transaction.
  ///
  /// - Parameters:
  ///   - now: milliseconds since the epoch.
  ///   - time: that of the tombstone. What is younger by more than the tolerance between two clocks stays: it is of a
  ///     registration behind the tombstone, where the topic is read again.
  public func forget(
    _ device: DeviceKey, at now: Int64, tombstone time: Int64
  ) throws(StoreError) {
    let until = time + OutsideTime.skew
    suspicions.forget.bind(device)
    try suspicions.forget.bindAll(from: 4, until).run()
    guard try receiptKeeping() != nil else { return }
    try receipts.forget.bindAll(device.token, device.app, now, until).run()
  }

  /// The time at which the first of the devices was forgotten whose receipts are still to be removed; nil if there are none.
  public func firstForgotten() throws(StoreError) -> Int64? {
    try database.integer("SELECT min(forgotten_at) FROM forgotten_devices")
  }

  /// A device that a clock which was ahead has forgotten later than now is forgotten now; in the caller's transaction.
  ///
  /// - Parameter now: milliseconds since the epoch.
  public func boundForgetting(by now: Int64) throws(StoreError) {
    let bound = try database.prepare(
      "UPDATE forgotten_devices SET forgotten_at = ?1 WHERE forgotten_at > ?1")
    try bound.bindAll(now).run()
  }

  /// Removes the receipts of forgotten devices from a page of all receipts, in the caller's transaction.
  ///
  /// - Parameters:
  ///   - place: the end of the page before; nil: this is the first one.
  ///   - limit: receipts of a page, at least 1.
  /// - Returns: the end of this page, nil after the last one, and the number of receipts that were removed.
  public func removeForgottenReceipts(
    after place: ReceiptPlace?, limit: Int
  ) throws(StoreError) -> (end: ReceiptPlace?, removed: Int) {
    let end = try endOfReceipts(after: place, limit: limit)
    let token =
      switch database {
      case .sqlite: "json_extract(r.receipt, '$.token')"
      // As senders write it: PostgreSQL's own functions refuse an object with "\\u0000" anywhere in it.
      case .postgres: #"split_part(split_part(r.receipt, '"token":"', 2), '"', 1)"#
      }
    let remove = try database.prepare(
      """
      DELETE FROM receipts WHERE (at, partition, record_offset, line) IN (
        SELECT r.at, r.partition, r.record_offset, r.line
        FROM (SELECT * FROM receipts WHERE (at, partition, record_offset, line) > (?1, ?2, ?3, ?4)
          ORDER BY at, partition, record_offset, line LIMIT ?5) AS r
        JOIN forgotten_devices AS f ON f.app = r.app AND f.token = \(token)
          AND r.at <= f.until_time)
      RETURNING 1
      """)
    remove.bind(after: place)
    return (end, try remove.bindAll(from: 5, limit).count())
  }

  private func endOfReceipts(after place: ReceiptPlace?, limit: Int) throws(StoreError)
    -> ReceiptPlace?
  {
    let last = try database.prepare(
      """
      SELECT at, partition, record_offset, line FROM receipts
      WHERE (at, partition, record_offset, line) > (?1, ?2, ?3, ?4)
      ORDER BY at, partition, record_offset, line LIMIT 1 OFFSET ?5
      """)
    last.bind(after: place)
    return try last.bindAll(from: 5, limit - 1).first { row in
      ReceiptPlace(
        at: row.integer(0) ?? 0,
        line: KeptReceipt.LineID(
          partition: Int32(truncatingIfNeeded: row.integer(1) ?? 0), offset: row.integer(2) ?? 0,
          line: Int(row.integer(3) ?? 0)))
    }
  }

  /// The walk is over: the receipts are gone of all devices that were forgotten before a time.
  public func endForgetting(before time: Int64) throws(StoreError) {
    let done = try database.prepare("DELETE FROM forgotten_devices WHERE forgotten_at < ?1")
    try done.bindAll(time).run()
  }
}

extension Statement {
  /// Binds a place in the order of receipts to ?1 to ?4; nil: before the first.
  fileprivate func bind(after place: ReceiptPlace?) {
    bind(1, place?.at ?? .min)
    bind(2, Int64(place?.line.partition ?? .min))
    bind(3, place?.line.offset ?? .min)
    bind(4, Int64(place?.line.line ?? .min))
  }
}
