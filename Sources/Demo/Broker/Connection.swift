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

  /// Bytes that wait to be sent before no further request is looked at.
  static let mostUnsent = 1 << 20
  /// Bytes that the system keeps besides.
  private static let sendBuffer: Int32 = 256 << 10
  /// Bytes of a request that brings no records.
  static let largestWithoutRecords = 8 << 20
  /// A request that waits takes so many times the bytes of its frame.
  static let waitingCost = 8
  let id: ConnectionID
  /// The broker that it was made to.
  let broker: Int32
  let host: String
  private let socket: Socket
  private var input: [UInt8] = []
  private var begin = 0
  private var output: [(due: Int64, bytes: [UInt8])] = []
  private var sent = 0
  private var unsent = 0
  var open: Open?
  /// When it was made, in ticks.
  let began: Int64
  /// When something came last, in ticks.
  private(set) var heard: Int64
  /// When something came or went last, in ticks.
  private(set) var moved: Int64
  /// True once a whole request has come.
  private(set) var hasAsked = false
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
  var held: Int { input.count - begin + unsent + (open.map { Self.waitingCost * $0.size } ?? 0) }

  var descriptor: Int32 { socket.fd }
  var mayHandle: Bool { open == nil && unsent <= Self.mostUnsent }

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
    let frame = Array(input[begin + 4..<begin + 4 + size])
    begin += 4 + size
    if begin == input.count {
      input.removeAll(keepingCapacity: input.count <= 1 << 16)
      begin = 0
    }
    return .frame(frame[...])
  }

  /// Bytes of answers so far.
  private(set) var answered = 0

  func send(_ bytes: [UInt8], due: Int64) {
    answered += bytes.count
    output.append((due, bytes))
    unsent += bytes.count
  }

  /// When the next answer is to go; nil if none waits for its time.
  func nextDue(now: Int64) -> Int64? { output.first.flatMap { $0.due > now ? $0.due : nil } }

  /// Sends what is due. False when the connection is over.
  func flush(now: Int64) -> Bool {
    while let first = output.first, first.due <= now {
      let result = first.bytes.withUnsafeBytes { socket.write(.init(rebasing: $0[sent...])) }
      switch result {
      case .moved(let count):
        moved = now
        sent += count
        unsent -= count
        if sent == first.bytes.count {
          output.removeFirst()
          sent = 0
        }
      case .wouldBlock: return true
      case .end, .failed: return false
      }
    }
    return true
  }

  /// What is to be watched.
  func wanted(now: Int64) -> Interest {
    var wanted: Interest = mayHandle ? .readable : []
    if let first = output.first, first.due <= now { wanted.insert(.writable) }
    return wanted
  }
}
