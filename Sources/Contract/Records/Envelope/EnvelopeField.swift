// SPDX-License-Identifier: Apache-2.0

public import Contract

/// The fields of an envelope line: those with a fixed place, in their order, and then all others.
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
  /// A field with a key.
  case keyed

  /// Fields with a fixed place.
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

/// Why a record of a notification topic is not an envelope and a body: the field, and where it broke.
public struct EnvelopeError: Error, Equatable, Sendable, CustomStringConvertible {
  public enum Problem: UInt8, Sendable {
    /// Empty, though the field is required.
    case missing
    /// Not one of the values that the field may have, or not in its form.
    case invalid
    /// A version that is not read here.
    case unknownVersion
    /// A control character.
    case controlCharacter
    /// Longer than the field, the line or the body may be.
    case tooLong
    /// The line ends before this field.
    case lineEnded
    /// A keyed field that has no key: `key=value` is missing its `=`, or what is before it.
    case noKey
    /// A keyed field whose key stands there twice.
    case repeated
    /// More header fields than a push may have of its own.
    case tooMany
    /// A header field of this name is not passed on.
    case reservedName
    /// The record ends without the line's newline.
    case unterminated
    /// No body after the line.
    case emptyBody
  }

  public let field: EnvelopeField
  public let problem: Problem
  /// The byte of the record where it was noticed.
  public let offset: Int
  /// The keyed field, if it is one that is known.
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
