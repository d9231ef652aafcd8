// SPDX-License-Identifier: Apache-2.0
import TestSupport
import Testing

@testable import Store

/// Servers that stop answering, and connections and transactions that fail half-way.
@Suite(.onOwnThread) struct AnswerDeadlineTests {
  private func database(
    _ location: String, isReadOnly: Bool = true, answer: UInt64 = 60_000
  ) throws(StoreError) -> PostgresDatabase {
    try PostgresDatabase(
      PostgresLocation(location), isReadOnly: isReadOnly, lockMilliseconds: 1_000,
      PostgresConnection.Patience(backend: 60_000, answer: answer))
  }

  private static let session = ScriptedPostgres.session

  @Test func `an answer is overdue so long after the last bytes`() {
    var deadline = AnswerDeadline(45_000, now: 1_000)
    #expect(!deadline.isOver(now: 45_999))
    #expect(deadline.isOver(now: 46_000))
    // One that is long and comes slowly is not.
    deadline.moved(now: 45_000)
    #expect(!deadline.isOver(now: 89_999))
    #expect(deadline.isOver(now: 90_000))
    #expect(!AnswerDeadline(nil, now: 0).isOver(now: .max))
  }

  /// Members of a consumer group poll between two questions.
  @Test func `a question is given up before Kafka gives up who asks`() {
    let patience = PostgresConnection.Patience()
    #expect(patience.statement < patience.answer)
    #expect(patience.answer + 2 * patience.backend < 60_000)
  }

  @Test func `who gets no answer is told why, and asks on a new connection`() throws {
    let server = try ScriptedPostgres([Self.session + [.number(7)], Self.session + [.number(8)]])
    let database = try database(server.location, answer: 200)
    #expect(try database.numbers("SELECT 7")?[0] == 7)
    let error = #expect(throws: StoreError.self) { try database.numbers("SELECT 8") }
    #expect(error?.isTemporary == true && error?.isTimeout == true)
    #expect(error?.description.contains("no answer within 200 ms") == true)
    #expect(error?.description.contains("query_wait_timeout") == true)
    #expect(!database.isConnected)
    // Not before: that would be another wait.
    #expect(!server.questions.contains("SELECT 8"))
    #expect(try database.numbers("SELECT 8")?[0] == 8)
  }

  @Test func `a server that does not read is given up, too`() throws {
    let server = try ScriptedPostgres([Self.session])
    let database = try database(server.location, answer: 200)
    // More than both sides' sockets hold.
    let long = String(repeating: "x", count: 32 << 20)
    let error = #expect(throws: StoreError.self) { try database.numbers("SELECT '\(long)'") }
    #expect(error?.description.contains("no answer within 200 ms") == true)
  }

  /// It would answer questions about tables that it does not find.
  @Test func `a connection whose settings were refused is not used`() throws {
    let server = try ScriptedPostgres([
      Self.session + [.hangUp], [Self.session[0], .refused("57014")], Self.session + [.number(9)],
    ])
    let database = try database(server.location)
    #expect(throws: StoreError.self) { try database.numbers("SELECT 9") }
    #expect(!database.isConnected)
    #expect(try database.numbers("SELECT 9")?[0] == 9)
  }

  @Test func `a transaction that fails at its beginning does not stay open`() throws {
    let server = try ScriptedPostgres([
      Self.session + [.refused("57014"), .done("ROLLBACK"), .done("BEGIN"), .done("COMMIT")]
    ])
    let database = try database(server.location)
    #expect(throws: StoreError.self) { try database.transaction {} }
    try database.transaction {}
    let words = server.questions.suffix(4).map { $0.prefix { $0 != " " } }
    #expect(words == ["BEGIN", "ROLLBACK", "BEGIN", "COMMIT"])
  }

  /// The server answers COMMIT with ROLLBACK where a statement of the transaction had failed.
  @Test func `a commit that has done nothing is an error`() throws {
    let server = try ScriptedPostgres([
      Self.session + [.done("BEGIN"), .done("ROLLBACK"), .done("ROLLBACK")]
    ])
    let database = try database(server.location)
    let error = #expect(throws: StoreError.self) { try database.transaction {} }
    #expect(error?.isTemporary == true)
  }

  @Test func `a statement that waits in a real server is given up, and another one is answered`()
    throws
  {
    let database = try database(PostgresServer.database("overdue"), answer: 300)
    let error = #expect(throws: StoreError.self) {
      try database.numbers("SELECT 1 FROM pg_catalog.pg_sleep(60)")
    }
    #expect(error?.description.contains("no answer within 300 ms") == true)
    #expect(eventually { (try? database.numbers("SELECT 1")?[0]) == 1 })
  }

  /// All of it is under way at once: more than the sockets hold, in both directions.
  @Test func `long statements, rows and answers are whole`() throws {
    let database = try database(PostgresServer.database("long"), isReadOnly: false)
    try database.execute("CREATE SCHEMA martlet; CREATE TABLE martlet.long (text TEXT)")
    let text = String(repeating: "é", count: 1 << 20)
    try database.transaction { () throws(StoreError) in
      var lines = PostgresLines()
      for _ in 0..<4 {
        lines.append(text)
        lines.endLine()
      }
      try database.copy(lines, into: "long (text)")
    }
    let select = try database.prepare("SELECT text || ?1 FROM long")
    select.bind(1, text)
    var count = 0
    while try select.next() {
      count += 1
      #expect(select.text(0)?.utf8.count == 4 * text.unicodeScalars.count)
    }
    #expect(count == 4)
    // The server's word against rows, and that the connection goes on.
    var wrong = PostgresLines()
    wrong.append("a")
    wrong.append(text)
    wrong.endLine()
    let error = #expect(throws: StoreError.self) {
      try database.transaction { () throws(StoreError) in
        try database.copy(wrong, into: "long (text)")
      }
    }
    #expect(error?.sqlState == "22P04" && database.isConnected)
    #expect(try database.numbers("SELECT count(*) FROM martlet.long")?[0] == 4)
  }
}
