// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import EventLoop

/// A client's connection: its unhandled input and unsent output. Requests are handled one at a time, as in Kafka.
final class Connection {
  /// A request that is answered later.
  struct Open {
    let api: API
    let version: Int16
    let correlation: Int32
    /// The size of its frame in bytes.
    var size = 0
  }

  /// A contiguous part of the output.
  private enum Part {
    case bytes([UInt8])
    case file(SegmentFile, Range<Int>)

    var count: Int {
      switch self {
      case .bytes(let bytes): bytes.count
      case .file(_, let range): range.count
      }
    }
  }

  /// The bytes of further requests that are read while one waits for its response, so that the end of a connection is
  /// noticed at once and the poller need not be updated for each wait.
  private static let mostAhead = 64 << 10
  /// The number of unsent bytes above which no further request is handled.
  static let mostUnsent = 1 << 20
  /// The size of the system's send buffer in bytes.
  private static let sendBuffer: Int32 = 256 << 10
  /// The maximum size of a request without records, in bytes.
  static let largestWithoutRecords = 8 << 20
  /// The memory of a waiting request as a multiple of its frame size.
  static let waitingCost = 8
  /// The bytes of input buffer kept for the next request, until the connection has been idle for this long.
  private static let mostRoom = 4 << 20
  private static let restMilliseconds: Int64 = 1_000
  let id: ConnectionID
  /// The broker that the client connected to.
  let broker: Int32
  let host: String
  private let socket: Socket
  private var input: [UInt8] = []
  private var begin = 0
  private var output: [(due: Int64, part: Part)] = []
  private var sent = 0
  private var unsent = 0
  /// The part of the unsent bytes that is in files and takes no memory.
  private var unsentOfFiles = 0
  var open: Open?
  /// The time of acceptance, in ticks.
  let began: Int64
  /// The time of the last input, in ticks.
  private(set) var heard: Int64
  /// The time of the last input or output, in ticks.
  private(set) var moved: Int64
  /// Whether a complete request has been received.
  private(set) var hasAsked = false
  /// Whether it closes soon after its last response: a client that sees both at once may miss the response.
  var isEnding = false
  /// Whether it waits for its next turn.
  var isReady = false
  /// The interest that the poller has.
  var interest: Interest = .readable

  init(_ socket: consuming Socket, _ id: ConnectionID, broker: Int32, now: Int64) {
    host = socket.peerAddress?.host ?? ""
    socket.limitSendBuffer(to: Self.sendBuffer)
    self.socket = socket
    self.id = id
    self.broker = broker
    began = now
    heard = now
    moved = now
  }

  /// The number of bytes that this client makes the broker hold.
  var held: Int {
    (input.isEmpty ? input.capacity : input.count - begin) + unsent - unsentOfFiles
      + Self.waitingCost * (open?.size ?? 0)
  }

  var descriptor: Int32 { socket.fd }
  var mayHandle: Bool { open == nil && unsent <= Self.mostUnsent && !isEnding }

  /// Receives at most a buffer of input. Returns false if the connection is over.
  func receive(_ buffer: UnsafeMutableRawBufferPointer, now: Int64) -> Bool {
    switch socket.read(into: buffer) {
    case .moved(let count):
      heard = now
      moved = now
      input += buffer[..<count]
      return true
    case .wouldBlock: return true
    case .end, .failed: return false
    }
  }

  enum Next {
    case frame(ArraySlice<UInt8>)
    case incomplete
    case tooLarge
  }

  /// Returns the next complete request.
  func nextFrame(largest: Int) -> Next {
    guard input.count - begin >= 4 else { return .incomplete }
    let size = input[begin..<begin + 4].reduce(0) { $0 << 8 | Int($1) }
    guard size <= largest else { return .tooLarge }
    // 0: Produce.
    let hasRecords = input.count - begin >= 6 && input[begin + 4] == 0 && input[begin + 5] == 0
    guard hasRecords || input.count - begin < 6 || size <= Self.largestWithoutRecords else {
      return .tooLarge
    }
    guard input.count - begin >= 4 + size else {
      if begin > 0 {
        input.removeFirst(begin)
        begin = 0
      }
      return .incomplete
    }
    hasAsked = true
    let frame = input[begin + 4..<begin + 4 + size]
    begin += 4 + size
    // The slice would keep all of the input alive, and parts of another request may be kept for long.
    return .frame(hasRecords ? frame : Array(frame)[...])
  }

  /// Ends the last frame. The buffer is kept for the next one, because allocating large ones is expensive.
  func endFrame() {
    guard begin == input.count else { return }
    input.removeAll(keepingCapacity: input.capacity <= Self.mostRoom)
    begin = 0
  }

  /// Releases unused memory while the connection is idle.
  func rest(now: Int64) {
    if input.isEmpty, now - heard >= Self.restMilliseconds { input = [] }
  }

  /// The number of response bytes so far.
  private(set) var answered = 0

  /// Queues a message, with the parts of files in its gaps.
  func send(_ message: MessageWriter, _ files: (SegmentID) -> SegmentFile?, due: Int64) {
    var sent = 0
    for gap in message.gaps {
      // Without the file the client gets fewer bytes than announced, and the connection ends.
      guard let file = files(gap.range.segment) else { continue }
      output.append((due, .bytes(Array(message.bytes[sent..<gap.place]))))
      output.append((due, .file(file, gap.range.range)))
      unsentOfFiles += gap.range.range.count
      sent = gap.place
    }
    let rest = sent == 0 ? message.bytes : Array(message.bytes[sent...])
    if !rest.isEmpty { output.append((due, .bytes(rest))) }
    answered += message.count
    unsent += message.count
  }

  /// The time at which the next response is due; nil if none is delayed.
  func nextDue(now: Int64) -> Int64? { output.first.flatMap { $0.due > now ? $0.due : nil } }

  /// Sends what is due. Returns false if the connection is over.
  func flush(now: Int64) -> Bool {
    while let first = output.first, first.due <= now {
      switch write(first.part) {
      case .moved(let count):
        moved = now
        sent += count
        unsent -= count
        if case .file = first.part { unsentOfFiles -= count }
        if sent == first.part.count {
          output.removeFirst()
          sent = 0
        }
      case .wouldBlock: return true
      case .end, .failed: return false
      }
    }
    return true
  }

  private func write(_ part: Part) -> Socket.Transfer {
    switch part {
    case .bytes(let bytes):
      return bytes.withUnsafeBytes { socket.write(.init(rebasing: $0[sent...])) }
    case .file(let file, let range):
      return socket.write(file: file.descriptor, from: range.lowerBound + sent, range.count - sent)
    }
  }

  /// The poller interest needed now.
  func wanted(now: Int64) -> Interest {
    var wanted: Interest = mayHandle || input.count - begin < Self.mostAhead ? .readable : []
    if let first = output.first, first.due <= now { wanted.insert(.writable) }
    return wanted
  }
}
