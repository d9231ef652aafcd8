// SPDX-License-Identifier: Apache-2.0

/// One request on its way.
struct Stream {
  /// 0: the slot is free.
  var id: UInt32 = 0
  /// The owner's number for the request.
  var token: UInt = 0
  /// The request's first frame has been written.
  var isWritten = false
  /// An answer's final status has arrived, so what follows are its body and trailers.
  var hasHead = false
  /// Bytes of the answer's body that its `content-length` says are to come; −1: it says nothing.
  var answerLeft = -1
  /// It is in the list of requests whose body waits for a window.
  var isBlocked = false
  /// The answer's status; 0 without one.
  var status: UInt16 = 0
  /// Credits from the peer minus what was sent; the window is this and the peer's initial window.
  var sendCredit = 0
  /// The bytes that the peer has sent since we last gave it credit.
  var unacknowledged = 0
  var bodyCount = 0
  var bodySent = 0
  /// The prepared fields that it waits to be written with; −1: none.
  var prepared: Int32 = -1

  /// So many bytes of its body go out.
  mutating func sends(_ count: Int) {
    isWritten = true
    bodySent += count
    sendCredit -= count
  }
}

/// Streams in slots that follow from their ids: the slot of stream 2n+1 is n modulo the capacity.
struct StreamTable {
  /// A power of two, at least twice the streams that are open, so that a free id is never far.
  private var slots = [Stream](repeating: Stream(), count: 16)
  private(set) var count = 0
  /// The id that the next request gets if its slot is free; above 2³¹−1 there are no more.
  private(set) var nextID: UInt32
  private let firstID: UInt32

  static let lastID: UInt32 = 0x7FFF_FFFF

  init(firstID: UInt32) {
    self.firstID = firstID
    nextID = firstID
  }

  @inline(__always)
  private func place(_ id: UInt32) -> Int { Int(id >> 1) & (slots.count - 1) }

  /// The slot of an open stream.
  @inline(__always)
  func slot(of id: UInt32) -> Int? {
    let place = place(id)
    return slots[place].id == id && id != 0 ? place : nil
  }

  @inline(__always)
  subscript(slot: Int) -> Stream {
    get { slots[slot] }
    _modify { yield &slots[slot] }
  }

  var slotCount: Int { slots.count }

  /// Opens a stream, which is given its id; nil when they are used up. An id whose slot is taken by an older stream is left
  /// out.
  mutating func open(_ stream: Stream) -> UInt32? {
    if count * 2 >= slots.count { grow() }
    while nextID <= Self.lastID {
      let id = nextID
      nextID += 2
      let place = place(id)
      guard slots[place].id == 0 else { continue }
      slots[place] = stream
      slots[place].id = id
      count += 1
      return id
    }
    return nil
  }

  @inline(__always)
  mutating func close(_ slot: Int) {
    slots[slot].id = 0
    count -= 1
  }

  /// True if no request has had this id yet (RFC 9113 §5.1.1).
  @inline(__always)
  func isIdle(_ id: UInt32) -> Bool { id >= nextID || id < firstID }

  private mutating func grow() {
    var larger = [Stream](repeating: Stream(), count: slots.count * 2)
    for stream in slots where stream.id != 0 {
      larger[Int(stream.id >> 1) & (larger.count - 1)] = stream
    }
    slots = larger
  }
}
