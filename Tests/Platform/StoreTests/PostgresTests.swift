// SPDX-License-Identifier: Apache-2.0
import Contract
import TestSupport
import Testing

@testable import Store

/// What only a server has: connections that break, failures of its own, other programs in the same database.
@Suite(.serialized) struct PostgresTests {
  private func position(_ offset: Int64) -> ChangelogPosition {
    ChangelogPosition(anchor: .init(offset: offset, timestamp: 1, keyHash: 2))
  }

  /// Applies devices as of a log up to an offset.
  private func apply(_ store: TokenStore, _ numbers: Range<Int>) throws(StoreError) {
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: numbers.map(device))
      for number in numbers { rows[device(number)] = DeviceState(presence: .registered(at: 5)) }
      try store.write(rows)
      try store.setPosition("push.devices", 0, position(Int64(numbers.upperBound) - 1))
    }
  }

  @Test
  func
    `a server that dies within a batch loses nothing that was committed, and the batch is done again`()
    throws
  {
    let server = try PostgresServer()
    let location = try server.newDatabase("failover")
    let store = try TokenStore(location, now: 1)
    try apply(store, 0..<500)
    let error = #expect(throws: StoreError.self) {
      try store.transaction { () throws(StoreError) in
        var rows = try store.rows(of: (500..<900).map(device))
        for number in 500..<900 { rows[device(number)] = DeviceState(presence: .registered(at: 6)) }
        try store.write(rows)
        #expect((try? server.kill()) != nil)
        try store.setPosition("push.devices", 0, position(899))
      }
    }
    #expect(error?.isTemporary == true, "\(error.map { "\($0)" } ?? "")")
    let away = #expect(throws: StoreError.self) { try apply(store, 500..<900) }
    #expect(away?.isTemporary == true, "\(away.map { "\($0)" } ?? "")")
    try server.start()
    // The same connection object goes on, and its statements are prepared again.
    #expect(try store.positions()["push.devices"]?[0] == position(499))
    try apply(store, 500..<900)
    #expect(try TokenStoreReader(location).deviceCount() == 900)
    #expect(try store.device(device(700)).registeredAt == 5)
    #expect(try store.positions()["push.devices"]?[0] == position(899))
  }

  @Test func `a URL with a password, and one that is none, are refused for good`() throws {
    for url in [
      "postgresql://u:secret@h/d", "postgresql://h/d?password=secret", "postgresql://h/d?nothing=1",
    ] {
      let error = #expect(throws: StoreError.self) { try TokenStore(url, now: 1) }
      #expect(error?.isTemporary == false)
      #expect(error?.description.contains("secret") == false)
    }
  }

  @Test func `a server that cannot be reached is temporary, and the message names it`() throws {
    let error = #expect(throws: StoreError.self) {
      try TokenStore("postgresql://127.0.0.1:1/tokens", now: 1)
    }
    #expect(error?.isTemporary == true)
    #expect(error?.description.contains("PostgreSQL 127.0.0.1/tokens") == true)
  }

  /// Among them 25P04, `transaction_timeout`, which PostgreSQL 17 brought.
  @Test(arguments: ["08006", "25P03", "25P04", "40001", "53300", "57014", "57P01"])
  func `what a server breaks off may succeed later`(_ state: String) {
    let error = StoreError(sqlState: state, attempt: "", message: "")
    #expect(error.isTemporary && error.isTimeout == (state == "57014"))
  }

  @Test(arguments: ["22021", "42501", "42P01"])
  func `what only a person can mend is not tried again`(_ state: String) {
    #expect(!StoreError(sqlState: state, attempt: "", message: "").isTemporary)
  }

  @Test func `a schema of another program is refused and stays as it was`() throws {
    let location = try PostgresServer.database("foreign_schema")
    let other = try Database(location, isReadOnly: false, busyTimeout: 1_000)
    try other.execute("CREATE SCHEMA martlet; CREATE TABLE martlet.people (name text)")
    let error = #expect(throws: StoreError.self) { try TokenStore(location, now: 1) }
    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("of another program; name another database") == true)
    #expect(try other.integer("SELECT count(*) FROM pg_tables WHERE schemaname = 'martlet'") == 1)
    // Tables of others elsewhere in the database are none of our business.
    let shared = try PostgresServer.database("shared")
    try Database(shared, isReadOnly: false, busyTimeout: 1_000).execute(
      "CREATE TABLE public.devices (name text); CREATE TABLE public.migrations (name text)")
    try apply(TokenStore(shared, now: 1), 0..<3)
    #expect(try TokenStoreReader(shared).deviceCount() == 3)
  }

  @Test func `a database that has not all characters is refused before anything is made in it`()
    throws
  {
    let unicode = try PostgresServer.database("unicode")
    try Database(unicode, isReadOnly: false, busyTimeout: 1_000).execute(
      "CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    let latin = unicode.replacing("/unicode?", with: "/latin?")
    let error = #expect(throws: StoreError.self) { try TokenStore(latin, now: 1) }
    #expect(error?.isTemporary == false)
    #expect(error?.description.contains("its encoding LATIN1 lacks characters") == true)
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'martlet'"
    let database = try Database(latin, isReadOnly: true, busyTimeout: 1_000)
    #expect(try database.integer(schemas) == 0)
  }

  @Test func `a reader changes nothing`() throws {
    let location = try PostgresServer.database("read_only")
    try apply(TokenStore(location, now: 1), 0..<3)
    let reader = try Database(location, isReadOnly: true, busyTimeout: 1_000)
    let error = #expect(throws: StoreError.self) { try reader.execute("DELETE FROM devices") }
    #expect(error?.sqlState == "25006")
  }

  @Test
  func `texts of any kind come back as they were, but for NUL, which PostgreSQL has not`() throws {
    let store = try TokenStore(try PostgresServer.database("texts"), now: 1)
    let apps = ["a\"b", "a\\b", "{a,b}", "NULL", "", "é\u{1F600}", "a'b", "a\nb", "a\u{0}b"]
    let devices = apps.map { DeviceKey(token: "ab", app: $0, environment: .production) }
    var rows = try store.rows(of: devices)
    for device in devices { rows[device] = DeviceState(presence: .removed(at: 7)) }
    try store.write(rows)
    let back = try store.rows(of: devices)
    for device in devices where !device.app.utf8.contains(0) {
      #expect(back[device] == DeviceState(presence: .removed(at: 7)), "\(device.app)")
      #expect(try store.device(device) == DeviceState(presence: .removed(at: 7)), "\(device.app)")
    }
    let clean = DeviceKey(token: "ab", app: "a\u{FFFD}b", environment: .production)
    #expect(try store.device(clean) == DeviceState(presence: .removed(at: 7)))
  }

  @Test func `tokens are read as they are where a server writes bytes in its older form`() throws {
    let location = try PostgresServer.database("older_form")
    try Database(location, isReadOnly: false, busyTimeout: 1_000).execute(
      "ALTER DATABASE older_form SET bytea_output = 'escape'")
    try apply(TokenStore(location, now: 1), 0..<3)
    // The rows are there.
    try apply(TokenStore(location, now: 1), 0..<3)
    let store = try TokenStore(location, now: 1)
    #expect(try TokenStoreReader(location).deviceCount() == 3)
    #expect(try store.rows(of: [device(2)])[device(2)].registeredAt == 5)
  }

  /// New rows go by COPY, others by an upsert; and a text without NUL stands where one with it would.
  @Test func `a transaction writes new rows and old ones as they are`() throws {
    let store = try TokenStore(try PostgresServer.database("lines"), now: 1)
    let texts = [
      "a\"b", "a\\b", #"\N"#, "", "é\u{1F600}", "a\nb\rc\td", "\\.", "a\u{0}b", "x,y {z}",
    ]
    for time: Int64 in [7, 8] {
      for first in [0, 3] {
        try store.transaction { () throws(StoreError) in
          let some = texts[first...].map {
            DeviceKey(token: "a\($0)", app: $0, environment: .sandbox)
          }
          var rows = try store.rows(of: some)
          for device in some {
            var state = DeviceState()
            state.apply(.registered(at: time), DeviceDetails(user: device.app, locale: device.app))
            rows[device] = state
          }
          try store.write(rows)
        }
      }
    }
    for text in texts {
      let device = DeviceKey(token: "a\(text)", app: text, environment: .sandbox)
      let state = try store.device(device)
      let kept = text.replacing("\0", with: "\u{FFFD}")
      #expect(state.registeredAt == 8 && state.details.user == kept, "\(text)")
      #expect(state.details.locale == kept, "\(text)")
    }
    #expect(try store.database.integer("SELECT count(*) FROM devices") == Int64(texts.count))
  }

  @Test
  func `a device that was not read, and has a row, is written beside one that has none`() throws {
    let location = try PostgresServer.database("unread")
    let store = try TokenStore(location, now: 1)
    try apply(store, 0..<3)
    try store.transaction { () throws(StoreError) in
      var rows = try store.rows(of: [device(3)])
      // It has a row, which was not asked for.
      rows[device(1)] = DeviceState(presence: .registered(at: 9))
      rows[device(3)] = DeviceState(presence: .registered(at: 9))
      try store.write(rows)
    }
    #expect(try store.device(device(1)).registeredAt == 9)
    #expect(try store.device(device(3)).registeredAt == 9)
    #expect(try TokenStoreReader(location).deviceCount() == 4)
  }
}
