// SPDX-License-Identifier: Apache-2.0

/// Where a push is between being taken out of Kafka and its one end, and how often it was sent.
///
/// ```
/// free ─▶ taken ─▶ waiting ─▶ open ─▶ (ended) free
///           │ ▲       ▲  └──────┼───▶ (ended) free
///           ▼ │       └─────────┘ again, or kept through an outage
///          held: not due yet, no credential, its device is busy
/// ```
///
/// The owner tells each step. A step that is not in the picture is a bug that would lose or repeat a
/// notification, and traps: a second answer, an answer for a push that is not open, a push that ends twice.
public struct PushLife: Sendable, Equatable {
  /// Where the push is.
  public enum State: UInt8, Sendable {
    /// No push is here.
    case free
    /// Taken, and being decided on.
    case taken
    /// Held: not due yet, without a credential, or behind another push of its device.
    case held
    /// In line for a stream.
    case waiting
    /// On a stream.
    case open
    /// Its deadline passed and its stream was reset; the end of the stream is still to come.
    case timedOut
  }

  public internal(set) var state = State.free
  public internal(set) var sendClass = SendClass.first
  /// Sends that may have reached APNs.
  public internal(set) var sends: UInt16 = 0
  /// Those of them that count for nothing, because the whole destination failed.
  public internal(set) var spared: UInt16 = 0
  /// Attempts of earlier lives, on retry topics.
  public internal(set) var earlier: UInt16 = 0

  public init() {}

  /// Sends in all, earlier ones included.
  public var attempts: Int { Int(earlier) + Int(sends) }
  /// Sends that count as attempts.
  public var countedAttempts: Int { attempts - Int(spared) }

  /// A record was taken into the slot.
  public mutating func begin(_ sendClass: SendClass, earlier: UInt16) {
    precondition(state == .free, "a slot was taken twice")
    state = .taken
    self.sendClass = sendClass
    self.earlier = earlier
    sends = 0
    spared = 0
  }

  /// It is held.
  public mutating func hold() {
    precondition(state == .taken, "only a push that is being decided on can be held")
    state = .held
  }

  /// It is looked at again.
  public mutating func resume() {
    precondition(state == .held, "only a push that was held can be resumed")
    state = .taken
  }

  /// It stands in line.
  public mutating func wait() {
    precondition(state == .taken, "only a push that is being decided on can get in line")
    state = .waiting
  }

  /// It leaves the line without being sent: its destination is gone.
  public mutating func leaveLine() {
    precondition(state == .waiting, "only a push in line can leave it")
    state = .taken
  }

  /// It went out on a stream.
  public mutating func send() {
    precondition(state == .waiting, "only a push in line can be sent")
    state = .open
    sends &+= 1
  }

  /// It could not be sent after all, and stands in line again.
  public mutating func takeBack() {
    precondition(state == .open, "only an open push can be taken back")
    state = .waiting
    sends &-= 1
  }

  /// Its deadline passed: its stream is being reset.
  public mutating func timeOut() {
    precondition(state == .open, "only an open push can time out")
    state = .timedOut
  }

  /// Its stream ended: with an answer, or without one. Says what it is known to be.
  ///
  /// - Parameter isUnprocessed: APNs has certainly not seen it, so it was not a send.
  public mutating func close(isUnprocessed: Bool = false) {
    precondition(state == .open || state == .timedOut, "a second answer for one push")
    state = .taken
    if isUnprocessed { sends &-= 1 }
  }

  /// The send that failed was the destination's fault.
  public mutating func spare() {
    precondition(state == .taken && spared < sends, "only a send can be spared")
    spared += 1
  }

  /// Two pushes of one class change places: what each was through goes with it, where it stands does not.
  static func exchangePlaces(_ one: inout PushLife, _ other: inout PushLife) {
    precondition(one.sendClass == other.sendClass, "pushes of two classes changed places")
    swap(&one.state, &other.state)
  }

  /// Its outcome is written down, or its record is left to another owner: the slot is free.
  public mutating func end() {
    precondition(
      state == .taken || state == .waiting || state == .held,
      "a push ended twice, or while its stream was open")
    state = .free
  }
}
