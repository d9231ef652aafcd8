// SPDX-License-Identifier: Apache-2.0
@testable import HTTP

/// An engine whose requests all look alike, with the peer's bytes in and everything that it writes in one array.
final class Wire {
  var engine: ClientEngine
  /// What the peer would have read so far.
  private(set) var output: [UInt8] = []
  var now: UInt64 = 1_000
  private var nextToken: UInt = 1
  private var bodies: [UInt: [UInt8]] = [:]

  /// - Parameter isReady: the server's SETTINGS, with `limit` streams, have arrived, and ours are acknowledged.
  init(_ local: LocalSettings = LocalSettings(), isReady: Bool = true, limit: UInt32 = 100) {
    engine = ClientEngine(local)
    guard isReady else { return }
    _ = feed(frame(.settings, [0, 3] + bigEndian(limit)) + frame(.settings, flags: 1))
    flush()
    output = []
  }

  var isFinished: Bool { engine.isFinished }
  var failure: ConnectionError? { engine.failure }
  var openStreams: Int { engine.openStreams }
  var sendWindow: Int { engine.sendWindow }
  var blocked: [UInt32] { engine.blocked }
  var control: [UInt8] { engine.control }
  var peer: PeerSettings { engine.peer }
  var head: AnswerHead { engine.head }
  var body: [UInt8] { engine.body }

  /// All events of some bytes.
  func feed(_ bytes: [UInt8], pieces: Int = .max) -> [ClientEvent] {
    var events: [ClientEvent] = []
    for start in stride(from: 0, to: bytes.count, by: min(pieces, max(bytes.count, 1))) {
      let piece = Array(bytes[start..<min(bytes.count, start + min(pieces, bytes.count))])
      var position = 0
      while let event = engine.next(in: piece.span, at: &position, now: now) {
        events.append(event)
      }
    }
    return events
  }

  /// Opens a request; the id of its stream.
  @discardableResult
  func open(body: [UInt8] = Array("{}".utf8)) -> UInt32? {
    defer { nextToken += 1 }
    bodies[nextToken] = body
    return engine.open(nextToken, bodyCount: body.count)
  }

  /// Writes all that can be written.
  func flush() {
    output += [UInt8](capacity: 1 << 18) { out in
      while true {
        switch engine.nextOutput() {
        case .nothing: return
        case .control: engine.writeControl(to: &out)
        case .request(let token):
          engine.beginRequest(to: &out)
          engine.append(.path, Array("/3/device/00".utf8).span, to: &out)
          engine.append(
            name: Array(":method".utf8).span, Array("POST".utf8).span, .incremental, to: &out)
          let body = bodies[token, default: []]
          _ = engine.endRequest(body: body.span, to: &out)
        case .body(let token, let start, let count):
          let part = Array(bodies[token, default: []][start..<start + count])
          engine.writeBody(part.span, to: &out)
        }
      }
    }
  }

  /// A request that has been written; its stream's id.
  func sent(body: [UInt8] = Array("{}".utf8)) -> UInt32 {
    let id = open(body: body) ?? 0
    flush()
    return id
  }

  /// The frames written since the last call.
  func frames() -> [WrittenFrame] {
    flush()
    defer { output = [] }
    return WrittenFrame.all(in: output)
  }

  /// What the connection ended with.
  var goAwayCode: UInt32? {
    frames().last { $0.type == .goAway }.map { frame in
      frame.payload[4..<8].reduce(0) { $0 << 8 | UInt32($1) }
    }
  }
}

/// A frame that the engine wrote.
struct WrittenFrame: Equatable {
  var type: FrameType
  var flags: UInt8 = 0
  var stream: UInt32 = 0
  var payload: [UInt8] = []

  static func all(in bytes: [UInt8]) -> [WrittenFrame] {
    var rest = bytes[...]
    let magic = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    if rest.starts(with: magic) { rest = rest.dropFirst(magic.count) }
    var found: [WrittenFrame] = []
    while rest.count >= 9 {
      let header = FrameHeader(Array(rest.prefix(9)).span, at: 0)
      found.append(
        WrittenFrame(
          type: FrameType(rawValue: header.type) ?? .continuation, flags: header.flags,
          stream: header.stream, payload: Array(rest.dropFirst(9).prefix(header.length))))
      rest = rest.dropFirst(9 + header.length)
    }
    return found
  }
}

/// A frame as it stands on the wire.
func frame(
  _ type: FrameType, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
) -> [UInt8] {
  rawFrame(type.rawValue, flags: flags, stream: stream, payload)
}

func rawFrame(
  _ type: UInt8, flags: UInt8 = 0, stream: UInt32 = 0, _ payload: [UInt8] = []
) -> [UInt8] {
  let count = payload.count
  return [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags]
    + bigEndian(stream) + payload
}

func bigEndian(_ value: UInt32) -> [UInt8] {
  [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
}

/// A literal field that does not enter the table, its name and value as they are.
func field(_ name: String, _ value: String) -> [UInt8] {
  [0, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)] + Array(value.utf8)
}
