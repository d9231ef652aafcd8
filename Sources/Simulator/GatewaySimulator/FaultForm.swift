// SPDX-License-Identifier: Apache-2.0
import Faults
import HTTP2
import HTTP2Server

/// An unusual form of an answer, as the number that a request carries while it waits. 0 is the usual form.
struct FaultForm: Equatable {
  var shape: AnswerShape = []
  var ending = FaultEnding.regular
  /// The code of RST_STREAM, below 65,536.
  var code: UInt32 = 0

  init() {}

  init(_ encoded: UInt32) {
    shape = AnswerShape(rawValue: UInt8(encoded & 0xFF))
    ending = FaultEnding(rawValue: encoded >> 8 & 0xFF) ?? .regular
    code = encoded >> 16
  }

  var encoded: UInt32 { UInt32(shape.rawValue) | ending.rawValue << 8 | (code & 0xFFFF) << 16 }

  mutating func add(_ shape: FaultShape) {
    switch shape {
    case .manyDataFrames: self.shape.insert(.manyDataFrames)
    case .continuation: self.shape.insert(.continuation)
    case .padding: self.shape.insert(.padding)
    case .trailers: self.shape.insert(.trailers)
    case .informational: self.shape.insert(.informational)
    // A delay, and no form.
    case .outOfOrder: break
    }
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

  init(now: UInt64) { heard = now }
}
