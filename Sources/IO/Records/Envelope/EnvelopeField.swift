// SPDX-License-Identifier: Apache-2.0

/// The fields of an envelope line, in their order.
public enum EnvelopeField: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case version
  case lane
  case environment
  case app
  case topic
  case pushType
  case priority
  case expiration
  case apnsID
  case collapseID
  case created
  case requestID
  case attempt
  case firstSeen
  case lastReason
  case target
  case replay
  case traceParent

  public var description: String {
    switch self {
    case .version: "version"
    case .lane: "lane"
    case .environment: "environment"
    case .app: "app"
    case .topic: "topic"
    case .pushType: "push type"
    case .priority: "priority"
    case .expiration: "expiration"
    case .apnsID: "apns-id"
    case .collapseID: "collapse id"
    case .created: "created"
    case .requestID: "request id"
    case .attempt: "attempt"
    case .firstSeen: "first seen"
    case .lastReason: "last reason"
    case .target: "target"
    case .replay: "replay"
    case .traceParent: "traceparent"
    }
  }
}

/// Why a record of a notification topic is not an envelope and a body: the field, and where it broke.
public struct EnvelopeError: Error, Equatable, Sendable, CustomStringConvertible {
  public enum Problem: UInt8, Sendable {
    /// Empty, though the field is required.
    case missing
    /// Not one of the values that the field may have, or not in its form.
    case invalid
    /// A control character.
    case controlCharacter
    /// Longer than the field, the line or the body may be.
    case tooLong
    /// The line ends before this field.
    case lineEnded
    /// A further field after this one.
    case unexpectedField
    /// The record ends without the line's newline.
    case unterminated
    /// No body after the line.
    case emptyBody
  }

  public let field: EnvelopeField
  public let problem: Problem
  /// The byte of the record where it was noticed.
  public let offset: Int

  public var description: String {
    switch problem {
    case .missing: "\(field): is missing (byte \(offset))"
    case .invalid: "\(field): is not valid (byte \(offset))"
    case .controlCharacter: "\(field): has a control character (byte \(offset))"
    case .tooLong: "\(field): too long (byte \(offset))"
    case .lineEnded: "\(field): the envelope line ends before it (byte \(offset))"
    case .unexpectedField: "\(field): is followed by a further field (byte \(offset))"
    case .unterminated: "\(field): the envelope line has no end (byte \(offset))"
    case .emptyBody: "body: is empty (byte \(offset))"
    }
  }
}
