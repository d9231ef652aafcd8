// SPDX-License-Identifier: Apache-2.0

package import APNS

/// What is wrong with a request: the field, and the problem. Its text is a dead letter's detail.
package struct RequestError: Error, Equatable, Sendable, CustomStringConvertible {
  package enum Problem: Equatable, Sendable {
    /// The record has no value at all.
    case empty
    /// Not JSON, with the parser's words.
    case malformed(String)
    /// JSON, but not an object.
    case notAnObject
    case unknownField(String)
    case duplicate
    case missing
    /// A value of another JSON type than the one named.
    case notA(String)
    case emptyText
    case tooLong(bytes: Int, limit: Int)
    /// Characters that the field may not have.
    case forbiddenCharacter
    case unknownValue(String)
    /// Both `token` and `tokens`.
    case bothTokenAndTokens
    case tooManyTokens(limit: Int)
    case noTokens
    case priorityNotAllowed(Int64, PushType)
    case negative
    case topicDoesNotMatch(expected: String)
    case notUUID
    /// `apns_id` with more than one token: they would all be the same notification.
    case onlyWithOneToken
    case token(DeviceToken.Problem)
    /// `channel` beside `token` or `tokens`.
    case channelAndToken
    case channel(ChannelID.Problem)
    /// A field that a broadcast does not have, or not with this value.
    case notOnChannel
    /// A member of the payload.
    case payload(PayloadKey, PayloadProblem)
    /// A key that stands twice in the payload or in its `aps`, by its path.
    case payloadDuplicate(String)
  }

  /// The field at fault; `nil` if it is the record as a whole.
  package let field: RequestField?
  package let problem: Problem
  /// The byte of the record where the parser noticed it, where that helps.
  package let offset: Int?

  package init(_ field: RequestField?, _ problem: Problem, offset: Int? = nil) {
    self.field = field
    self.problem = problem
    self.offset = offset
  }

  package var description: String {
    let place = offset.map { " (byte \($0))" } ?? ""
    return "\(subject): \(words)\(place)"
  }

  private var subject: String {
    switch problem {
    case .unknownField(let name): name
    case .payload(let key, _): key.path
    case .payloadDuplicate(let path): path
    default: field?.name ?? "request"
    }
  }

  private var words: String {
    switch problem {
    case .empty: "is empty"
    case .malformed(let words): "is not valid JSON: \(words)"
    case .notAnObject: "is not a JSON object"
    case .unknownField: "is not a field of a request"
    case .duplicate, .payloadDuplicate: "is given twice"
    case .missing: "is required"
    case .notA(let type): "is not \(type)"
    case .emptyText: "is empty"
    case .tooLong(let bytes, let limit): "has \(bytes) bytes, more than \(limit)"
    case .forbiddenCharacter: "has a character that is not allowed there"
    case .unknownValue(let value): "\"\(value)\" is not one of its values"
    case .bothTokenAndTokens: "stands beside token; give one of the two"
    case .tooManyTokens(let limit): "has more than \(limit) entries"
    case .noTokens: "has no entries"
    case .priorityNotAllowed(let value, let type): "\(value) is not allowed for type \(type)"
    case .negative: "is negative"
    case .topicDoesNotMatch(let expected): "does not match app and type, expected \(expected)"
    case .notUUID: "is not a UUID in canonical form"
    case .onlyWithOneToken: "is only allowed with exactly one token"
    case .token(let problem): problem.description
    case .channelAndToken: "stands beside a device token; give one of channel, token, tokens"
    case .channel(let problem): problem.description
    case .notOnChannel: "is not for a channel (only liveactivity, no collapse id)"
    case .payload(_, let problem): problem.words
    }
  }
}
