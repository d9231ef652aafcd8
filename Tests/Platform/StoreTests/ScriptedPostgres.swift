// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Synchronization

/// A server that knows as much of PostgreSQL's protocol as plain connections and simple queries need, and answers those
/// in turn. Behind its last answer a connection is neither read nor closed.
final class ScriptedPostgres: Sendable {
  enum Answer: Sendable {
    /// One row of one number.
    case number(Int)
    /// A command's tag.
    case done(String)
    /// The SQLSTATE of an error.
    case refused(String)
    case hangUp
  }

  /// The answers that every connection needs before its first question, with the process that `PQbackendPID` tells.
  static let session: [Answer] = [.number(Int(pid)), .done("SET")]
  private static let pid: UInt32 = 42

  private final class State: Sendable {
    let isStopping = Atomic(false)
    let questions = Mutex<[String]>([])
  }

  private let port: UInt16
  private let state = State()

  /// - Parameter scripts: the answers of each connection.
  init(_ scripts: [[Answer]]) throws {
    let listener = try Socket.listening(on: .loopback(port: 0))
    port = listener.localAddress!.port
    let (descriptor, state) = (dup(listener.fd), state)
    let thread = try LoopThread(name: "postgres") { Self.serve(descriptor, scripts, state) }
    thread.detach()
  }

  deinit { state.isStopping.store(true, ordering: .releasing) }

  var location: String {
    "postgresql://martlet@127.0.0.1:\(port)/scripted?sslmode=disable&gssencmode=disable"
  }

  /// What was asked, on all connections.
  var questions: [String] { state.questions.withLock { $0 } }

  private static func serve(_ listener: Int32, _ scripts: [[Answer]], _ state: State) {
    var scripts = scripts[...]
    var open: [Int32: ArraySlice<Answer>] = [:]
    var silent: [Int32] = []
    while !state.isStopping.load(ordering: .acquiring) {
      var entries = ([listener] + open.keys).map {
        pollfd(fd: $0, events: Int16(POLLIN), revents: 0)
      }
      guard poll(&entries, UInt(entries.count), 20) > 0 else { continue }
      for entry in entries where entry.revents != 0 {
        let connection = entry.fd
        if connection == listener {
          open[accept(listener, nil, nil)] = ArraySlice(scripts.popFirst() ?? [])
        } else if !answer(connection, &open[connection]!, state) {
          open[connection] = nil
          // A program that another test starts meanwhile may hold it as well.
          shutdown(connection, Int32(SHUT_RDWR))
          close(connection)
        } else if open[connection]!.isEmpty {
          open[connection] = nil
          silent.append(connection)
        }
      }
    }
    for connection in [listener] + open.keys + silent { close(connection) }
  }

  /// Answers the message that has come: libpq writes whole ones, and one at a time.
  ///
  /// - Returns: false at the end of the connection.
  private static func answer(
    _ connection: Int32, _ script: inout ArraySlice<Answer>, _ state: State
  ) -> Bool {
    var bytes = [UInt8](repeating: 0, count: 8_192)
    let count = read(connection, &bytes, bytes.count)
    guard count > 0 else { return false }
    var reply: [UInt8] = []
    switch bytes[0] {
    case 0:
      // The first message has no type.
      reply = message("R", number(0)) + message("K", number(pid) + number(7)) + ready
    case UInt8(ascii: "Q"):
      state.questions.withLock { $0.append(String(decoding: bytes[5..<count - 1], as: UTF8.self)) }
      switch script.removeFirst() {
      case .number(let value): reply = row(value) + done("SELECT 1") + ready
      case .done(let tag): reply = done(tag) + ready
      case .refused(let code):
        reply = message("E", text("SERROR\0C\(code)\0Mno\0")) + ready
      case .hangUp: return false
      }
    default: return false
    }
    return send(connection, reply, reply.count, Int32(MSG_NOSIGNAL)) == reply.count
  }

  // MARK: The protocol

  private static let ready = message("Z", Array("I".utf8))

  private static func done(_ tag: String) -> [UInt8] { message("C", text(tag)) }

  /// A row description with one column of type bigint, and its row.
  private static func row(_ value: Int) -> [UInt8] {
    // Neither a table nor its column, bigint in eight bytes, without a modifier, as text.
    let column = [number(0), short(0), number(20), short(8), number(.max), short(0)]
    let digits = Array("\(value)".utf8)
    return message("T", short(1) + text("number") + column.joined())
      + message("D", short(1) + number(UInt32(digits.count)) + digits)
  }

  private static func message(_ type: String, _ body: [UInt8]) -> [UInt8] {
    Array(type.utf8) + number(UInt32(body.count + 4)) + body
  }

  private static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

  private static func short(_ value: UInt8) -> [UInt8] { [0, value] }

  private static func number(_ value: UInt32) -> [UInt8] {
    withUnsafeBytes(of: value.bigEndian) { Array($0) }
  }
}
