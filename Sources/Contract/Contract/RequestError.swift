// SPDX-License-Identifier: Apache-2.0

/// The fault in a request: the field, and the problem. Its text is a dead letter's detail.
public struct RequestError: Error, Equatable, Sendable, CustomStringConvertible {
  public enum Problem: Equatable, Sendable {
    /// The record has no value at all.
    case empty
    /// Not JSON, with the parser's words, and the character at which it stopped (`nil` at the end).
    case malformed(String, at: String?)
    /// Text that begins with U+FEFF.
    case byteOrderMark
    /// The record's timestamp, which is not in milliseconds since 2001 or later.
    case recordTime(Int64)
    /// The record has crashed the process twice.
    case crashed
    /// JSON, but not an object.
    case notAnObject
    case unknownField(String)
    case duplicate
    case missing
    /// A value of another JSON type than the one required.
    case notA(String)
    case emptyText
    case tooLong(bytes: Int, limit: Int)
    /// A forbidden character, as shown in messages, and its byte position in the field's text.
    case forbiddenCharacter(String, at: Int)
    /// A value that is not one of the allowed ones.
    case unknownValue(String, [String])
    case bothTokenAndTokens
    /// Too many entries in an array, or members in an object.
    case tooMany(limit: Int)
    case noTokens
    /// The value, and the allowed ones.
    case priorityNotAllowed(Int64, PushType, [Int])
    case negative
    /// A number too large for a time in epoch seconds: most likely milliseconds.
    case notSeconds(Int64)
    /// A number too small for a time in epoch seconds: most likely seconds from the request on.
    case notATime(Int64)
    /// Not a number of seconds from the request on, within the limit.
    case notDuration(Int64, limit: Int64)
    case bothExpirations
    case topicDoesNotMatch(expected: String)
    case notUUID
    /// `apns_id` with more than one token: they would all be the same notification.
    case onlyWithOneToken
    case token(DeviceToken.Problem)
    /// `channel` beside `token` or `tokens`.
    case channelAndToken
    case channel(ChannelID.Problem)
    /// A field, or its value, that a broadcast cannot have.
    case notOnChannel
    /// A fault in a member of the payload.
    case payload(PayloadKey, PayloadProblem)
    /// A mistake that devices ignore, where those are refused.
    case ineffective(PayloadWarning)
    /// A key that appears twice in the payload or in its `aps`, by its path.
    case payloadDuplicate(String)
    /// A fault in a member of `headers` or `data`, with its name.
    indirect case member(String, Problem)
    /// An invalid name of a member of `headers`.
    case headerName(CarriedHeaders.NameProblem)
    /// The fields carried beside the payload are too long together.
    case carriesTooMuch(bytes: Int, limit: Int)
    /// `supersede` with the start of a Live Activity or media session.
    case startSupersedesNothing
    /// A `send_at` that is neither epoch seconds nor a time of RFC 3339 with its offset.
    case notAMoment
    /// A `send_at` that is more than this many days after the request.
    case tooFarAhead(days: Int64)
    /// An `expiration` that is not after `send_at`.
    case expiresBeforeSending
    /// An `id` that is missing where `send_at`, `user` or `users` needs one.
    case missingForSchedule
    case bothUserAndUsers
    /// `user` or `users` beside `token` or `channel`.
    case userAndTarget
    /// `activity` without `user`, or of another type than `liveactivity`.
    case activityOfNobody
    /// A request of type `liveactivity` to users without `activity`.
    case activityMissing
    /// An `event` without `activity`, or not the payload's (`start_or_update` goes with `start`).
    case otherEvent
    /// A `campaign` that the scheduler has not set.
    case notOfScheduler
    /// The topic of the schedule, which would keep the request, does not exist.
    case noSchedule(topic: String)
  }

  /// The field at fault; `nil` if it is the record as a whole.
  public let field: RequestField?
  public let problem: Problem
  /// The byte of the record at which the parser found the fault, where that helps.
  public let offset: Int?

  public init(_ field: RequestField?, _ problem: Problem, offset: Int? = nil) {
    self.field = field
    self.problem = problem
    self.offset = offset
  }

  public var description: String {
    let place = offset.map { " (byte \($0))" } ?? ""
    return "\(subject): \(words)\(place)"
  }

  private var subject: String {
    switch problem {
    case .unknownField(let name): name
    case .payload(let key, _): key.path
    case .payloadDuplicate(let path): path
    case .ineffective(let warning): warning.member.path
    case .member(let name, _): "\(field?.name ?? "request").\(name)"
    default: field?.name ?? "request"
    }
  }

  private var allowedCharacters: String {
    switch field {
    case .id:
      "no control character, and no blank at either end, is allowed with send_at, user and users"
    case .user, .users, .activity: "no control character, and no blank at either end, is allowed"
    case .headers, .collapseID: "only printable ASCII, and no blank at either end, is allowed"
    case let field? where field.rawValue >= RequestField.firstText.rawValue:
      "no control character, and no blank at either end, is allowed"
    default: "only letters, digits, dots, hyphens and underscores are allowed"
    }
  }

  /// The forms of a `send_at`.
  public static let momentForms =
    "use epoch seconds, or RFC 3339 with an offset, as 2026-12-24T18:00:00+01:00"

  private var words: String { words(problem) }

  private func words(_ problem: Problem) -> String {
    switch problem {
    case .empty: "is empty"
    case .malformed(let words, let character):
      "is not valid JSON: \(words), at \(character ?? "the end")"
    case .byteOrderMark: "begins with a byte order mark; write UTF-8 without one"
    case .crashed: DeadLetter.crashed
    case .recordTime(let time):
      "was produced with the time \(time), which is not in milliseconds since 1970\(time < RequestRules.timeLimit ? " (seconds?)" : "");"
        + " let the Kafka client set it, then replay"
    case .notAnObject: "is not a JSON object"
    case .unknownField: "is not a field of a request"
    case .duplicate, .payloadDuplicate: "is given twice"
    case .missing: "is required"
    case .notA(let type): "is not \(type)"
    case .emptyText: "is empty"
    case .tooLong(let bytes, let limit): "has \(bytes) bytes, more than \(limit)"
    case .forbiddenCharacter(let character, let index):
      "has \(character) at byte \(index + 1), where \(allowedCharacters)"
    case .unknownValue(let value, let values):
      "\"\(value)\" is not one of \(values.joined(separator: ", "))"
    case .bothTokenAndTokens: "cannot be combined with token"
    case .startSupersedesNothing:
      "is not allowed with event start: each starts an activity of its own; leave it out"
    case .tooMany(let limit): "has more than \(limit) entries"
    case .noTokens: "has no entries"
    case .priorityNotAllowed(let value, let type, let allowed):
      "\(value) is not allowed for \(type.phrase); use "
        + allowed.map { "\($0)" }.joined(separator: " or ")
    case .negative: "is negative; it is a time in epoch seconds, or 0"
    case .notSeconds(let value):
      "\(value) is too large for epoch seconds; milliseconds? seconds are expected"
    case .notATime(let value) where field == .sendAt:
      "\(RequestRules.early(value)): \(Self.momentForms)"
    case .notATime(let value):
      "\(RequestRules.early(value)); a number of seconds from the request on goes in expires_in"
    case .notDuration(let value, let limit):
      "\(value) is not a number of seconds from 0 to \(limit); it counts from the request on"
    case .bothExpirations: "cannot be combined with expiration"
    case .topicDoesNotMatch(let expected): "does not match app and type, expected \(expected)"
    case .notUUID: "is not a UUID in canonical form, as 0f6e1c1e-5a0b-4c55-9d0e-6f6b3a1c2d3e"
    case .onlyWithOneToken: "is only allowed with exactly one token"
    case .token(let problem): problem.description
    case .channelAndToken:
      "cannot be combined with a device token; use one of channel, token, tokens"
    case .channel(let problem): problem.description
    case .notOnChannel: "is not for a channel (only liveactivity, no collapse id)"
    case .payload(_, let problem): problem.words
    case .ineffective(let warning):
      "\(warning.detail) (\(warning.rule.name), refused by --payload-rules refuse)"
    case .member(_, let problem): words(problem)
    case .headerName(.malformed):
      "is no name of such a header field: apns- and then letters in lower case, digits and hyphens"
    case .headerName(.reserved): "is set by Martlet itself, or by APNs in its answers"
    case .carriesTooMuch(let bytes, let limit):
      "id, collapse_id, group, supersede, headers and data have \(bytes) bytes together, more than \(limit)"
    case .notAMoment: "is not a time: \(Self.momentForms)"
    case .tooFarAhead(let days): "is more than \(days) days ahead"
    case .expiresBeforeSending: "is not after send_at: the push would expire before it is sent"
    case .missingForSchedule:
      "is required with send_at, user and users: the request is cancelled and replaced by it"
    case .bothUserAndUsers: "cannot be combined with user"
    case .userAndTarget: "cannot be combined with token or channel; leave those out, or the user"
    case .activityOfNobody: "is only allowed with type liveactivity and a user"
    case .activityMissing:
      "is required with type liveactivity and a user: it names the activity whose tokens are meant"
    case .otherEvent:
      "is only allowed with activity, and has to be payload.aps.event, or start_or_update with a start"
    case .notOfScheduler: "is set by martlet-scheduler alone; group names what belongs together"
    case .noSchedule(let topic):
      "is for later or to users, and topic \(topic) does not exist; martlet topics create creates it, then replay"
    }
  }
}
