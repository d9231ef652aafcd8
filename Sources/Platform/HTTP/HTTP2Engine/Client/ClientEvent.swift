// SPDX-License-Identifier: Apache-2.0

/// Something that the peer's bytes, or the end of the connection, mean for the owner.
public enum ClientEvent: Sendable, Equatable {
  /// SETTINGS arrived; so many streams are allowed at once.
  case settings(maxConcurrentStreams: UInt32)
  /// The final status of an answer arrived: `ClientEngine.head`. `isComplete`: nothing follows and the stream is closed.
  case head(token: UInt, isComplete: Bool)
  /// A part of an answer's body: `ClientEngine.body`.
  case body(token: UInt)
  /// The answer is complete, and its stream is closed.
  case ended(token: UInt)
  /// The stream ended in another way.
  case closed(ClosedStream)
  /// The peer is leaving; what it said is `ClientEngine.body`. Requests that it has not processed follow as closed.
  case goAway(lastStreamID: UInt32, code: UInt32)
  /// The answer to a PING of ours, with what it carried.
  case pong(UInt64)
}

/// A stream that ended without a complete answer.
public struct ClosedStream: Sendable, Equatable {
  public let token: UInt
  /// The status that had arrived, 0 without one.
  public let status: UInt16
  /// The error code on the wire (RFC 9113 §7), or what stands for it.
  public let code: UInt32
  /// The peer has certainly not processed the request: it was not written, was refused, or is above the last stream
  /// of a GOAWAY.
  public let isUnprocessed: Bool
}

/// The output to write next.
public enum ClientOutput: Sendable, Equatable {
  case nothing
  /// `ClientEngine.writeControl`.
  case control
  /// A whole request: `beginRequest`, its fields, `endRequest`.
  case request(token: UInt)
  /// More of a request's body: `writeBody`.
  case body(token: UInt, from: Int, count: Int)
}
