// SPDX-License-Identifier: Apache-2.0
import CDatabases
import EventLoop
import Glibc

/// Owns one connection of libpq, and bounds how long it waits for an answer. One thread at a time.
///
/// A server that stands still, and a pooler without a server (PgBouncer's `query_wait_timeout`), leave a question open
/// for minutes: longer than Kafka keeps a member in its group that does not poll (`max.poll.interval.ms`). A connection
/// that was silent for too long is closed, so that the other side gives up what was asked.
final class PostgresConnection {
  /// How long the other side may be silent, in milliseconds.
  struct Patience {
    /// Until a new connection or a transaction has a backend: as long as connecting may take.
    var backend: UInt64 = 5_000
    /// How long a statement may run in the server, which ends it then (`statement_timeout`).
    var statement: UInt64 = 40_000
    /// Until an answer begins, or goes on.
    var answer: UInt64 = 45_000

    /// For those whom no consumer group waits for: looking through all devices may take longer.
    static let long = Patience(statement: 60_000, answer: 65_000)
  }

  let raw: OpaquePointer
  private var isGivenUp = false
  /// The silence because of which it was given up, in milliseconds; nil for none.
  private(set) var silence: UInt64?

  /// Encrypted connections may hold bytes that their socket does not show: they are asked for so often, in milliseconds.
  private static let turnMilliseconds: Int32 = 100

  /// Connects. Later values win: an operator's own are in the URL, which comes last.
  init(_ location: PostgresLocation, isReadOnly: Bool) {
    let parameters = [
      ("connect_timeout", "5"), ("tcp_user_timeout", "15000"), ("keepalives_idle", "10"),
      ("keepalives_interval", "5"), ("fallback_application_name", "martlet"),
      ("target_session_attrs", isReadOnly ? "any" : "read-write"), ("dbname", location.url),
      ("client_encoding", "UTF8"),
    ]
    raw = withCStrings(parameters.map(\.0)) { names in
      withCStrings(parameters.map(\.1)) { values in
        // The pass phrase of an encrypted key comes from the URL (sslpassword); nobody is asked on the terminal.
        PQsetSSLKeyPassHook_OpenSSL(PQdefaultSSLKeyPassHook_OpenSSL)
        // Memory only: a server that does not answer leaves a connection that says so.
        guard let connection = PQconnectdbParams(names, values, 1) else {
          preconditionFailure("out of memory")
        }
        return connection
      }
    }
    PQsetNoticeProcessor(raw, { _, _ in }, nil)
    PQsetnonblocking(raw, 1)
  }

  deinit { PQfinish(raw) }

  var isOpen: Bool { PQstatus(raw) == CONNECTION_OK && !isGivenUp }

  /// The other side has ended it, perhaps while nobody used it.
  var isCut: Bool { !isOpen && !isGivenUp }

  func connectAgain() {
    PQreset(raw)
    (isGivenUp, silence) = (false, nil)
    PQsetnonblocking(raw, 1)
  }

  /// Closes it for both sides; libpq lets go of it when it connects again.
  func giveUp() {
    isGivenUp = true
    shutdown(PQsocket(raw), Int32(SHUT_RDWR))
  }

  /// Sends something and returns the last answer to it, which the caller clears; nil if it was not sent or not answered.
  ///
  /// - Parameters:
  ///   - limit: the longest silence in milliseconds; nil: as long as it takes.
  ///   - send: returns 1 if libpq takes what is to be sent.
  func answer(within limit: UInt64?, to send: (OpaquePointer) -> Int32) -> OpaquePointer? {
    guard !isGivenUp, send(raw) == 1 else { return nil }
    var last: OpaquePointer?
    while let result = next(within: limit) {
      // What the server said last, not that it hung up then.
      if last != nil, PQresultStatus(last) == PGRES_FATAL_ERROR {
        PQclear(result)
      } else {
        PQclear(last)
        last = result
      }
      // The server wants rows, or there is no connection, of which libpq would tell again.
      if PQresultStatus(last) == PGRES_COPY_IN || PQstatus(raw) != CONNECTION_OK { break }
    }
    guard isGivenUp else { return last }
    PQclear(last)
    return nil
  }

  /// Sends rows, for which the server waits (COPY), and returns the answer to them as `answer(within:to:)` does.
  func answer(within limit: UInt64?, toRows rows: UnsafeRawBufferPointer) -> OpaquePointer? {
    var deadline = AnswerDeadline(limit, now: MonotonicClock.milliseconds())
    var rest = rows
    // In pieces: libpq moves all that it could not yet send each time that it has sent some of it.
    while !rest.isEmpty {
      let piece = UnsafeRawBufferPointer(rebasing: rest.prefix(Self.pieceBytes))
      let bytes = piece.bindMemory(to: CChar.self).baseAddress
      guard PQputCopyData(raw, bytes, Int32(piece.count)) == 1 else { break }
      rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece.count))
      while PQflush(raw) == 1 {
        guard wait(isSending: true, &deadline) else { return nil }
        // What the server says against the rows, its answer to their end has.
        guard PQconsumeInput(raw) == 1 else { break }
      }
    }
    return answer(within: limit) { connection in
      rest.isEmpty
        ? PQputCopyEnd(connection, nil) : PQputCopyEnd(connection, "the rows could not be sent")
    }
  }

  private static let pieceBytes = 64 << 10

  /// The next answer to what was sent; nil after the last one, and if there is none in time.
  private func next(within limit: UInt64?) -> OpaquePointer? {
    var deadline = AnswerDeadline(limit, now: MonotonicClock.milliseconds())
    while true {
      let isSending = PQflush(raw) == 1
      guard PQisBusy(raw) == 1 else { return PQgetResult(raw) }
      guard wait(isSending: isSending, &deadline) else { return nil }
      // What went wrong is in the result.
      guard PQconsumeInput(raw) == 1 else { return PQgetResult(raw) }
    }
  }

  /// Waits a moment for bytes.
  ///
  /// - Returns: false if it is over.
  private func wait(isSending: Bool, _ deadline: inout AnswerDeadline) -> Bool {
    let now = MonotonicClock.milliseconds()
    let events = Int16(POLLIN) | (isSending ? Int16(POLLOUT) : 0)
    var entry = pollfd(fd: PQsocket(raw), events: events, revents: 0)
    if poll(&entry, 1, Self.turnMilliseconds) > 0 {
      deadline.moved(now: now)
    } else if deadline.isOver(now: now) {
      silence = deadline.limit
      giveUp()
    }
    return !isGivenUp
  }
}

/// When an answer is overdue: so long after the last bytes that were sent or received. Times are monotonic milliseconds.
struct AnswerDeadline {
  /// In milliseconds; nil: never.
  let limit: UInt64?
  private var last: UInt64

  init(_ limit: UInt64?, now: UInt64) { (self.limit, last) = (limit, now) }

  /// Bytes were sent or received.
  mutating func moved(now: UInt64) { last = now }

  func isOver(now: UInt64) -> Bool { limit.map { now >= last + $0 } ?? false }
}
