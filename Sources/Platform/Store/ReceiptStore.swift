// SPDX-License-Identifier: Apache-2.0

/// An outcome of a notification as the database keeps it: a line of `push.receipts`.
public struct KeptReceipt: Equatable, Sendable {
  /// The place of the line: its record's partition and offset, and its number in the record. The same line is kept
  /// once, however often it is read.
  public struct LineID: Hashable, Sendable {
    public let partition: Int32
    public let offset: Int64
    public let line: Int

    public init(partition: Int32, offset: Int64, line: Int) {
      self.partition = partition
      self.offset = offset
      self.line = line
    }
  }

  public let place: LineID
  /// The time of the outcome, milliseconds since the epoch.
  public let at: Int64
  public let app: String
  public let requestID: String?
  public let apnsID: String?
  /// The line itself, JSON.
  public let receipt: String

  public init(
    place: LineID, at: Int64, app: String, requestID: String?, apnsID: String?, receipt: String
  ) {
    self.place = place
    self.at = at
    self.app = app
    self.requestID = requestID
    self.apnsID = apnsID
    self.receipt = receipt
  }
}

/// Since when outcomes are kept, and for how long each; in milliseconds.
public struct ReceiptKeeping: Equatable, Sendable {
  public let since: Int64
  public let retention: Int64

  public init(since: Int64, retention: Int64) {
    self.since = since
    self.retention = retention
  }
}

extension TokenStore {
  /// Keeps receipts that are not yet there, in the caller's transaction.
  public func keep(_ kept: [KeptReceipt]) throws(StoreError) {
    if !kept.isEmpty { try receipts.insert(kept) }
  }

  /// Removes the oldest receipts from before a time.
  public func removeReceipts(before time: Int64, limit: Int) throws(StoreError) -> Int {
    try receipts.remove.bindAll(time, limit).count()
  }

  /// Notes for readers that receipts are kept.
  public func set(_ keeping: ReceiptKeeping) throws(StoreError) {
    try transaction { () throws(StoreError) in
      let upsert = try database.prepare(
        """
        INSERT INTO receipt_keeping VALUES (1, ?1, ?2)
        ON CONFLICT (id) DO UPDATE SET retention = excluded.retention
        """)
      try upsert.bindAll(keeping.since, keeping.retention).run()
    }
  }

  /// The note about receipts; nil: they are not kept.
  public func receiptKeeping() throws(StoreError) -> ReceiptKeeping? {
    try receipts.selectKeeping.receiptKeeping()
  }

  /// Notes that receipts are no longer kept, if none is left, in the caller's transaction.
  public func endReceiptKeeping() throws(StoreError) {
    try database.execute("DELETE FROM receipt_keeping WHERE NOT EXISTS (SELECT 1 FROM receipts)")
  }
}

struct ReceiptStatements {
  private let insert: Statement
  let remove: Statement
  /// Notes that the receipts of a device are to be removed.
  let forget: Statement
  let selectKeeping: Statement
  /// With PostgreSQL many at once.
  private let isMany: Bool

  init(_ database: Database) throws(StoreError) {
    switch database {
    case .sqlite:
      isMany = false
      insert = try database.prepare(
        """
        INSERT INTO receipts VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
        ON CONFLICT (at, partition, record_offset, line) DO NOTHING
        """)
    case .postgres:
      isMany = true
      insert = try database.prepare(
        """
        INSERT INTO receipts SELECT * FROM unnest(?1::bigint[], ?2::bigint[], ?3::bigint[],
          ?4::bigint[], ?5::text[], ?6::text[], ?7::text[], ?8::text[])
        ON CONFLICT (at, partition, record_offset, line) DO NOTHING
        """)
    }
    remove = try database.prepare(
      """
      DELETE FROM receipts WHERE (at, partition, record_offset, line) IN (
        SELECT at, partition, record_offset, line FROM receipts WHERE at < ?1
        ORDER BY at, partition, record_offset, line LIMIT ?2)
      RETURNING 1
      """)
    forget = try database.prepare(
      """
      INSERT INTO forgotten_devices VALUES (?1, ?2, ?3, ?4)
      ON CONFLICT (token, app) DO UPDATE SET forgotten_at = excluded.forgotten_at,
        until_time = CASE WHEN forgotten_devices.until_time > excluded.until_time
          THEN forgotten_devices.until_time ELSE excluded.until_time END
      """)
    selectKeeping = try database.prepare(Self.keepingSQL)
  }

  static let keepingSQL = "SELECT since, retention FROM receipt_keeping"

  func insert(_ receipts: [KeptReceipt]) throws(StoreError) {
    if isMany { return try insertMany(receipts) }
    for receipt in receipts {
      insert.bind(1, receipt.at)
      insert.bind(2, Int64(receipt.place.partition))
      insert.bind(3, receipt.place.offset)
      insert.bind(4, Int64(receipt.place.line))
      insert.bind(5, receipt.app)
      insert.bind(6, optional: receipt.requestID)
      insert.bind(7, optional: receipt.apnsID)
      insert.bind(8, receipt.receipt)
      try insert.run()
    }
  }

  private func insertMany(_ receipts: [KeptReceipt]) throws(StoreError) {
    var columns = PostgresColumns(count: 8)
    for receipt in receipts {
      columns.append(receipt.at)
      columns.append(Int64(receipt.place.partition))
      columns.append(receipt.place.offset)
      columns.append(Int64(receipt.place.line))
      columns.append(receipt.app)
      columns.append(receipt.requestID)
      columns.append(receipt.apnsID)
      columns.append(receipt.receipt)
      columns.endLine()
    }
    columns.bind(to: insert)
    try insert.run()
  }
}

extension Statement {
  func receiptKeeping() throws(StoreError) -> ReceiptKeeping? {
    try first { ReceiptKeeping(since: $0.time(0) ?? 0, retention: $0.time(1) ?? 0) }
  }
}
