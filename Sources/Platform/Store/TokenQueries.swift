// SPDX-License-Identifier: Apache-2.0
public import Contract

/// An invalid token as `TokenQueries` lists it.
public struct ListedToken: Equatable, Sendable {
  public let device: DeviceKey
  /// Invalid since, by APNs' clock, in milliseconds since the epoch.
  public let since: Int64
  public let reason: String
  /// When APNs said so.
  public let recordedAt: Int64
  /// Of its newest registration.
  public let details: DeviceDetails
}

/// Which invalid tokens of an app, by the time at which APNs called them invalid.
public struct InvalidTokenPage: Equatable, Sendable {
  /// The end of a page: the next one begins behind it, whatever was written meanwhile.
  public struct Cursor: Equatable, Sendable {
    public let recordedAt: Int64
    public let token: String
    public let environment: String

    public init(recordedAt: Int64, token: String, environment: String) {
      self.recordedAt = recordedAt
      self.token = token
      self.environment = environment
    }
  }

  public let app: String
  /// nil: of both environments.
  public let environment: Environment?
  public let after: Cursor
  public let limit: Int

  public init(app: String, environment: Environment?, after: Cursor, limit: Int) {
    self.app = app
    self.environment = environment
    self.after = after
    self.limit = limit
  }
}

/// Questions to the database beside its writers, for the HTTP API. Owned by one thread.
public final class TokenQueries {
  private let device: Statement
  private let invalid: Statement
  private let database: Database
  /// By the number of apps that they ask for; 0 asks for all.
  private var outcomes: [Int: Statement] = [:]
  private let keeping: Statement

  /// Opens a database that exists: a file's path, or a `postgresql://` URL.
  public init(_ location: String) throws(StoreError) {
    database = try Database(reading: location, busyTimeout: 2_000)
    device = try database.prepare(TokenStore.SQL.select)
    invalid = try database.prepare(
      """
      SELECT token, app, environment, invalid_since, invalid_reason, recorded_at, push_type,
        user_name, locale, app_version, bundle, model, time_zone, tags, activity
      FROM dead_tokens WHERE app = ?1 AND (recorded_at, token, environment) > (?2, ?3, ?4)
        AND (environment = ?5 OR ?5 = '')
      ORDER BY recorded_at, token, environment LIMIT ?6
      """)
    keeping = try database.prepare(ReceiptStatements.keepingSQL)
  }

  /// Whether all devices are in the database: questions about devices are to be asked only then.
  public func state() throws(StoreError) -> TableState { try database.tableState() }

  /// Since when outcomes are kept; nil: they are not.
  public func receiptKeeping() throws(StoreError) -> ReceiptKeeping? {
    try keeping.receiptKeeping()
  }

  /// The outcomes of a request or of one notification, oldest first: lines of `push.receipts`. Ids are an app's own, so
  /// other apps may have used the same one, and rows of theirs must not take the place of those that are asked for.
  ///
  /// - Parameters:
  ///   - id: a request id, or an `apns-id` in either case.
  ///   - apps: whose outcomes are asked for, at most 1,000; nil: everybody's.
  public func outcomes(
    of id: ExactText, apps: Set<ExactText>?, limit: Int
  ) throws(StoreError) -> [(app: String, receipt: String)] {
    try database.demandInPlace()
    let apps = apps.map { Array($0) }
    if let apps, apps.isEmpty { return [] }
    let statement = try outcomesStatement(apps: apps?.count ?? 0)
    // Rows have an `apns-id` in lower case, and apps may write it otherwise.
    let apnsID = NotificationID(id.text).map { "\($0)" } ?? id.text
    statement.bindAll(id.text, limit, apnsID)
    for (index, app) in (apps ?? []).enumerated() { statement.bind(Int32(index + 4), app.text) }
    return try statement.rows { (app: $0.text(0), receipt: $0.text(1)) }
  }

  private func outcomesStatement(apps count: Int) throws(StoreError) -> Statement {
    if let known = outcomes[count] { return known }
    let list = (0..<count).map { "?\($0 + 4)" }.joined(separator: ", ")
    let statement = try database.prepare(
      """
      SELECT app, receipt FROM receipts WHERE (request_id = ?1 OR apns_id = ?3)
        \(count == 0 ? "" : "AND app IN (\(list))")
      ORDER BY at, partition, record_offset, line LIMIT ?2
      """)
    outcomes[count] = statement
    return statement
  }

  /// The devices of a user, by app, environment and time of registration.
  ///
  /// - Parameter apps: whose devices are asked for, at most 1,000; nil: everybody's.
  public func devices(
    ofUser user: ExactText, apps: Set<ExactText>?, limit: Int
  ) throws(StoreError) -> [KnownDevice] {
    try database.devices(ofUser: user, apps: apps, limit: limit)
  }

  public func state(_ identity: DeviceKey) throws(StoreError) -> DeviceState {
    device.bind(identity)
    return try device.first { $0.deviceState(from: 0) } ?? DeviceState()
  }

  /// Invalid tokens in the order of their time, then of token and environment.
  public func invalidTokens(_ page: InvalidTokenPage) throws(StoreError) -> [ListedToken] {
    invalid.bindAll(page.app, page.after.recordedAt)
    invalid.bind(3, token: page.after.token)
    invalid.bindAll(
      from: 4, page.after.environment, page.environment?.description ?? "", page.limit)
    return try invalid.rows { row in
      row.identity.map {
        ListedToken(
          device: $0, since: row.time(3) ?? 0, reason: row.text(4), recordedAt: row.time(5) ?? 0,
          details: row.details(from: 6))
      }
    }
  }
}
