// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import EventLoop

/// A client's connection: what has come and is not handled yet, and what is to be sent. Its requests are handled one by
/// one, as Kafka does.
final class Connection {
  /// A request whose answer comes later.
  struct Open {
    let api: API
    let version: Int16
    let correlation: Int32
    /// Bytes that its frame had.
    var size = 0
  }

  /// What is sent at a stretch.
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

  /// Bytes of further requests that are read while one waits for its answer: so the end of a connection is seen at once,
  /// and the poller need not be told of each wait.
  private static let mostAhead = 64 << 10
  /// Bytes that wait to be sent before no further request is looked at.
  static let mostUnsent = 1 << 20
  /// Bytes that the system keeps besides.
  private static let sendBuffer: Int32 = 256 << 10
  /// Bytes of a request that brings no records.
  static let largestWithoutRecords = 8 << 20
  /// A request that waits takes so many times the bytes of its frame.
  static let waitingCost = 8
  /// Bytes of room that is kept for the next request, until so long nothing has come.
  private static let mostRoom = 4 << 20
  private static let restMilliseconds: Int64 = 1_000
  let id: ConnectionID
  /// The broker that it was made to.
  let broker: Int32
  let host: String
  private let socket: Socket
  private var input: [UInt8] = []
  private var begin = 0
  private var output: [(due: Int64, part: Part)] = []
  private var sent = 0
  private var unsent = 0
  /// Bytes of files among them, which take no memory.
  private var unsentOfFiles = 0
  var open: Open?
  /// When it was made, in ticks.
  let began: Int64
  /// When something came last, in ticks.
  private(set) var heard: Int64
  /// When something came or went last, in ticks.
  private(set) var moved: Int64
  /// True once a whole request has come.
  private(set) var hasAsked = false
  /// It has its last answer, and is closed soon: a client that finds both at once may overlook the answer.
  var isEnding = false
  /// It waits for its next turn.
  var isReady = false
  /// What the poller was told last.
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

  /// Bytes that this client makes the broker hold.
  var held: Int {
    (input.isEmpty ? input.capacity : input.count - begin) + unsent - unsentOfFiles
      + Self.waitingCost * (open?.size ?? 0)
  }

  var descriptor: Int32 { socket.fd }
  var mayHandle: Bool { open == nil && unsent <= Self.mostUnsent && !isEnding }

  /// Takes what has come, at most the buffer at once. False when the connection is over.
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

  /// The next whole request.
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
    // Something of another request may be kept for long, and all of the input with it.
    return .frame(hasRecords ? frame : Array(frame)[...])
  }

  /// The last frame is handled. Room for the next one is kept: that of large ones is dear.
  func endFrame() {
    guard begin == input.count else { return }
    input.removeAll(keepingCapacity: input.capacity <= Self.mostRoom)
    begin = 0
  }

  /// Gives back what is not used while nothing comes.
  func rest(now: Int64) {
    if input.isEmpty, now - heard >= Self.restMilliseconds { input = [] }
  }

  /// Bytes of answers so far.
  private(set) var answered = 0

  /// Sends a message, and in its gaps the parts of the files.
  func send(_ message: MessageWriter, _ files: (SegmentID) -> SegmentFile?, due: Int64) {
    var sent = 0
    for gap in message.gaps {
      // Without the file the client gets fewer bytes than it was told, and the connection ends.
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

  /// When the next answer is to go; nil if none waits for its time.
  func nextDue(now: Int64) -> Int64? { output.first.flatMap { $0.due > now ? $0.due : nil } }

  /// Sends what is due. False when the connection is over.
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

  /// What is to be watched.
  func wanted(now: Int64) -> Interest {
    var wanted: Interest = mayHandle || input.count - begin < Self.mostAhead ? .readable : []
    if let first = output.first, first.due <= now { wanted.insert(.writable) }
    return wanted
  }
}
