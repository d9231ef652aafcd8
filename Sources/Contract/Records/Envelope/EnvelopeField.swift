// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The fields of an envelope line: the positional ones in order, then all keyed ones.
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
  case created
  case requestID
  case attempt
  case firstSeen
  case lastReason
  /// A keyed field.
  case keyed

  /// The number of positional fields.
  public static let fixedCount = Int(EnvelopeField.keyed.rawValue)

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
    case .created: "created"
    case .requestID: "request id"
    case .attempt: "attempt"
    case .firstSeen: "first seen"
    case .lastReason: "last reason"
    case .keyed: "keyed field"
    }
  }
}

/// Why a record of a notification topic is not an envelope and a body: the field and the fault.
public struct EnvelopeError: Error, Equatable, Sendable, CustomStringConvertible {
  public enum Problem: UInt8, Sendable {
    /// Empty, though the field is required.
    case missing
    /// Not an allowed value or form of the field.
    case invalid
    /// An unsupported version.
    case unknownVersion
    case controlCharacter
    /// Longer than allowed for the field, the line or the body.
    case tooLong
    /// The line ends before this field.
    case lineEnded
    /// A keyed field without a key: `key=value` without its `=`, or with nothing before it.
    case noKey
    /// A keyed field whose key appears twice.
    case repeated
    /// More custom header fields than a push may have.
    case tooMany
    /// A header field whose name is reserved.
    case reservedName
    /// The record ends without the line's newline.
    case unterminated
    /// No body after the line.
    case emptyBody
  }

  public let field: EnvelopeField
  public let problem: Problem
  /// The position in the record where the fault was found.
  public let offset: Int
  /// The keyed field, if it is a known one.
  public let carried: CarriedField?

  init(field: EnvelopeField, problem: Problem, offset: Int, carried: CarriedField? = nil) {
    self.field = field
    self.problem = problem
    self.offset = offset
    self.carried = carried
  }

  public var description: String {
    let name = carried?.row.key ?? "\(field)"
    let place = "(byte \(offset))"
    return switch problem {
    case .missing: "\(name): is missing \(place)"
    case .invalid: "\(name): is not valid \(place)"
    case .unknownVersion:
      "version: is not \(Envelope.version), which this build reads; the record is of another build's ingest, or of none \(place)"
    case .controlCharacter: "\(name): has a control character \(place)"
    case .tooLong: "\(name): too long \(place)"
    case .lineEnded: "\(name): the envelope line ends before it \(place)"
    case .noKey: "\(name): has no key before an equals sign \(place)"
    case .repeated: "\(name): stands there twice \(place)"
    case .tooMany:
      "\(name): more than \(CarriedHeaders.maximumCount) header fields of the request's own \(place)"
    case .reservedName: "\(name): a header field of this name is not passed on \(place)"
    case .unterminated: "\(name): the envelope line has no end \(place)"
    case .emptyBody: "body: is empty \(place)"
    }
  }
}
