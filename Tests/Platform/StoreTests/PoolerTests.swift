// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

/// A server behind PgBouncer in transaction mode, one that only answers questions, and connections that were cut.
@Suite(.serialized) struct PoolerTests {
  private func apply(_ store: TokenStore, _ numbers: Range<Int>) throws(StoreError) {
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: numbers.map(device))
      for number in numbers {
        rows[device(number)] = DeviceState(
          presence: .registered(at: 5), details: DeviceDetails(user: "ann"))
      }
      try store.write(rows)
      try store.setComplete(at: 5)
    }
  }

  @Test func `readers and writers share a pooler's connections, and leave nothing on them`() throws
  {
    let server = try PostgresServer()
    let direct = try server.newDatabase("pooled")
    let location = try server.pool("pooled")
    let store = try TokenStore(location, now: 1)
    let schedule = try ScheduleStore(store)
    let question = PersonQuestion(
      user: "ann", app: "a", environment: .sandbox, types: [nil], limit: 10_000)
    var count = 0
    for round in 0..<4 {
      try apply(store, count..<count + 300)
      count += 300
      // New ones and old ones in turn, on two connections of the server.
      let (queries, people) = (try TokenQueries(location), try UsersReader(location))
      #expect(try queries.state(device(count - 1)).registeredAt == 5, "round \(round)")
      #expect(try people.devices([question]).first?.count == count)
      #expect(
        try AudienceReader(location).count(Audience(app: "a", environment: .sandbox, type: "alert"))
          == count)
      #expect(try queries.devices(ofUser: "ann", apps: nil, limit: 10).count == 10)
      try schedule.put(
        1,
        [
          ScheduledEntry(
            key: "a:production:\(round)",
            row: .init(offset: 1, identity: 1, kind: .request(due: 2, written: 1)), value: "x")
        ])
      #expect(try schedule.count([1]) == round + 1)
      try store.demandWritable()
    }
    let reader = try Database(location, isReadOnly: true, busyTimeout: 1_000)
    guard case .postgres(let raw) = reader else { return }
    #expect(raw.isPooled)
    #expect(throws: StoreError.self) { try reader.execute("DELETE FROM devices") }
    // What an application of somebody else would find in the pool.
    for _ in 0..<4 {
      #expect(try raw.numbers("SELECT count(*) FROM pg_catalog.pg_prepared_statements")?[0] == 0)
      #expect(
        try raw.numbers(
          """
          SELECT count(*) FROM pg_catalog.pg_settings WHERE source = 'session'
            AND name IN ('search_path', 'default_transaction_read_only', 'lock_timeout', 'statement_timeout')
          """)?[0] == 0)
    }
    let straight = try Database(direct, isReadOnly: true, busyTimeout: 1_000)
    guard case .postgres(let connection) = straight else { return }
    #expect(!connection.isPooled)
    #expect(try straight.integer("SELECT count(*) FROM devices") == Int64(count))
  }

  @Test
  func `what another program has set for a pooler's connection does not stop the writer`() throws {
    let server = try PostgresServer()
    _ = try server.newDatabase("poisoned")
    let location = try server.pool("poisoned")
    let store = try TokenStore(location, now: 1)
    let other = try Database(location, isReadOnly: true, busyTimeout: 1_000)
    guard case .postgres(let raw) = other else { return }
    for _ in 0..<4 {
      _ = try raw.numbers(
        """
        SELECT 1 FROM set_config('default_transaction_read_only', 'on', false) AS one,
          set_config('default_transaction_isolation', 'serializable', false) AS two
        """)
    }
    try apply(store, 0..<10)
    #expect(try store.deviceCounts().registered == 10)
    let writer = try Database(location, isReadOnly: false, busyTimeout: 1_000)
    #expect(try level(writer) == "read committed")
  }

  private func level(_ database: Database) throws(StoreError) -> String? {
    try database.transaction { () throws(StoreError) in
      try database.text("SELECT pg_catalog.current_setting('transaction_isolation')")
    }
  }

  /// A transaction that waits for a writer would otherwise see what there was before it waited, and insert once more
  /// what that one has inserted.
  @Test func `writers see what the one before has committed, whatever the isolation of others`()
    throws
  {
    let location = try PostgresServer.database("isolated")
    try Database(location, isReadOnly: false, busyTimeout: 1_000).execute(
      "ALTER DATABASE isolated SET default_transaction_isolation = 'repeatable read'")
    let writer = try Database(location, isReadOnly: false, busyTimeout: 1_000)
    #expect(try writer.text("SHOW default_transaction_isolation") == "repeatable read")
    #expect(try level(writer) == "read committed")
  }

  @Test(arguments: [false, true])
  func `a connection that was cut while nobody used it costs nobody an answer`(isPooled: Bool)
    throws
  {
    let server = try PostgresServer()
    let direct = try server.newDatabase("cut")
    let location = isPooled ? try server.pool("cut") : direct
    let store = try TokenStore(location, now: 1)
    try apply(store, 0..<10)
    let queries = try TokenQueries(location)
    #expect(try queries.state(device(1)).registeredAt == 5)
    let admin = try Database(direct, isReadOnly: false, busyTimeout: 1_000)
    for _ in 0..<3 {
      #expect(
        try admin.integer(
          """
          SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
          WHERE pid <> pg_backend_pid() AND datname = current_database()
          """) ?? 0 > 0)
      if !isPooled {
        #expect(try queries.state(device(1)).registeredAt == 5)
        #expect(try queries.state() == .complete(generation: 1))
        try apply(store, 10..<20)
        #expect(try store.positions().isEmpty)
      } else {
        // A pooler may answer for a connection that it does not yet know to be gone.
        #expect(eventually { (try? queries.state(device(1)).registeredAt) == 5 })
        #expect(eventually { (try? apply(store, 10..<20)) != nil })
      }
    }
    try server.kill()
    let away = #expect(throws: StoreError.self) { try queries.state(device(1)) }
    #expect(away?.isTemporary == true)
  }

  @Test func `a standby answers questions, and says why it takes no changes`() throws {
    let server = try PostgresServer()
    let location = try server.newDatabase("followed")
    let store = try TokenStore(location, now: 1)
    try apply(store, 0..<10)
    let standby = try server.standby("followed")
    #expect(try TokenStoreReader(standby).deviceCount() == 10)
    let refused = #expect(throws: StoreError.self) { try TokenStore(standby, now: 2) }
    #expect(refused?.isTemporary == true, "\(refused.map { "\($0)" } ?? "")")
    let reader = try Database(standby, isReadOnly: true, busyTimeout: 1_000)
    let error = #expect(throws: StoreError.self) { try reader.demandWritable() }
    #expect(error?.description.contains("its server is a standby") == true)
    try store.demandWritable()
  }

  @Test func `a server that only answers questions from now on is noticed without a change`() throws
  {
    let server = try PostgresServer()
    let store = try TokenStore(try server.newDatabase("read_only"), now: 1)
    try store.demandWritable()
    try server.setReadOnly(true)
    #expect(eventually { (try? store.demandWritable()) == nil })
    let error = #expect(throws: StoreError.self) { try store.demandWritable() }
    #expect(error?.isTemporary == true)
    #expect(error?.description.contains("default_transaction_read_only") == true)
    #expect(throws: StoreError.self) { try apply(store, 0..<3) }
    try server.setReadOnly(false)
    #expect(eventually { (try? apply(store, 0..<3)) != nil })
  }
}
