// SPDX-License-Identifier: Apache-2.0
import Faults
import HTTP2
import HTTP2Server

/// An unusual form of an answer, as the number that a request carries while it waits. 0 is the usual form.
struct FaultForm: Equatable {
  enum Ending: UInt32 {
    /// Written as usual.
    case regular
    /// Not written; the stream stays open.
    case silence
    /// Not written; RST_STREAM with INTERNAL_ERROR.
    case reset
    /// Not written; the TCP connection is reset.
    case disconnect
    /// Only the header fields, then RST_STREAM.
    case status
    /// RST_STREAM after the whole answer.
    case resetAfter
  }

  var shape: AnswerShape = []
  var ending: Ending = .regular
  /// The code of RST_STREAM, below 65,536.
  var code: UInt32 = 0

  init() {}

  init(_ encoded: UInt32) {
    shape = AnswerShape(rawValue: UInt8(encoded & 0xFF))
    ending = Ending(rawValue: encoded >> 8 & 0xFF) ?? .regular
    code = encoded >> 16
  }

  var encoded: UInt32 { UInt32(shape.rawValue) | ending.rawValue << 8 | (code & 0xFFFF) << 16 }

  mutating func add(_ shape: FaultShape) {
    let pairs: [(FaultShape, AnswerShape)] = [
      (.manyDataFrames, .manyDataFrames), (.continuation, .continuation), (.padding, .padding),
      (.trailers, .trailers), (.informational, .informational),
    ]
    for (asked, form) in pairs where shape.contains(asked) { self.shape.formUnion(form) }
  }

  mutating func add(_ loss: FaultLoss) {
    ending =
      switch loss {
      case .silence: .silence
      case .reset: .reset
      case .disconnect: .disconnect
      }
  }

  mutating func add(_ moment: FaultResetMoment, code: UInt32) {
    ending = moment == .afterStatus ? .status : .resetAfter
    self.code = code
  }
}

/// The faults applied to a connection, and the time of its end. Times are in ms of the loop's clock.
struct ConnectionFaults {
  /// When a request came last.
  var heard: UInt64
  /// The stream limit is at most this…
  var limit: UInt32?
  /// …until then; nil is for good.
  var limitEnds: UInt64?
  /// WINDOW_UPDATE frames go out again.
  var windowsEnd: UInt64?
  /// The socket is read again.
  var readingResumes: UInt64?
  /// Streams above this were said not to be processed.
  var lastStreamID: Int32?
  /// Nothing comes from this connection any more.
  var isSilent = false
  /// It does not read or write any more, and is closed then.
  var closesAt: UInt64?
  /// The decisions of the rules about a new connection, until it exists.
  var opening: [FaultDecision] = []

  init(now: UInt64) { heard = now }
}
