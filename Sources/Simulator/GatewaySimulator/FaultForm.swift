// SPDX-License-Identifier: Apache-2.0
import GatewayModel
import HTTP2

/// An unusual form of a response, encoded as the number that a waiting request carries. 0 is the usual form.
struct FaultForm: Equatable {
  var shape: AnswerShape = []
  var ending = FaultEnding.regular
  /// The RST_STREAM code, below 65,536.
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
    // Only a delay; the form is the usual one.
    case .outOfOrder: break
    }
  }
}

/// The faults applied to a connection and when they end. Times are in ms of the loop's clock.
struct ConnectionFaults {
  /// The time of the last request.
  var heard: UInt64
  /// The maximum stream limit…
  var limit: UInt32?
  /// …until this time; nil is forever.
  var limitEnds: UInt64?
  /// The time at which WINDOW_UPDATE frames are sent again.
  var windowsEnd: UInt64?
  /// The time at which reading from the socket resumes.
  var readingResumes: UInt64?
  /// The last stream id sent in GOAWAY: streams above it are not processed.
  var lastStreamID: Int32?
  /// Whether nothing more is sent on this connection.
  var isSilent = false
  /// The time at which the connection, which no longer reads or writes, is closed.
  var closesAt: UInt64?

  init(now: UInt64) { heard = now }
}
