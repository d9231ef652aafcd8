// SPDX-License-Identifier: Apache-2.0
public import Contract
import EventLoop

/// The rest of an entry of `push.schedule` after a user and some devices are erased.
public enum ErasedRequest: Equatable, Sendable {
  /// The entry names none of them.
  case untouched
  /// The entry has no other recipient.
  case gone
  /// The value of its record without them.
  case rest([UInt8])

  /// - Parameters:
  ///   - value: the value of the record.
  ///   - user: the erased user's name; names are equal if all their bytes are.
  ///   - tokens: the tokens of the erased devices.
  public init(
    _ value: UnsafeRawBufferPointer, key: ScheduleKey, without user: ExactText,
    _ tokens: Set<ExactText>,
    _ parser: JSONParser
  ) {
    switch try? ScheduleRecord(value) {
    case .request(let request):
      let json = ScheduleRecord.request(in: value)
      self =
        request.recipients.map { Self.people($0, request, json, user) }
        ?? Self.devices(json, request, tokens, parser)
    // The activity's user is in the key.
    case .activity: self = key.id.utf8.starts(with: "\t\(user)\t".utf8) ? .gone : .untouched
    case .cancellation, nil: self = .untouched
    }
  }

  private static func people(
    _ recipients: Recipients, _ request: ScheduledRequest, _ json: UnsafeRawBufferPointer,
    _ user: ExactText
  ) -> ErasedRequest {
    let rest = recipients.users.filter { $0 != user }
    guard rest.count < recipients.users.count else { return .untouched }
    var request = request
    request.recipients?.users = rest
    return with(.array(rest.map { .string($0.text) }), as: "users", in: json, of: request)
  }

  private static func devices(
    _ json: UnsafeRawBufferPointer, _ request: ScheduledRequest, _ tokens: Set<ExactText>,
    _ parser: JSONParser
  ) -> ErasedRequest {
    let object = try? parser.parse(json)
    let named = object?["tokens"]?.array ?? [object?["token"]].compactMap(\.self)
    let rest = named.filter { value in
      let token = value.string.flatMap { try? DeviceToken.normalized($0) }
      return token.map { !tokens.contains($0.exact) } ?? true
    }
    guard rest.count < named.count else { return .untouched }
    return with(.array(rest), as: "tokens", in: json, of: request)
  }

  /// The request with another list; gone if that is empty, or if the member is missing.
  private static func with(
    _ list: JSONValue, as member: String, in json: UnsafeRawBufferPointer,
    of request: ScheduledRequest
  ) -> ErasedRequest {
    let old = Array(json)
    guard list.array?.isEmpty == false, let place = JSONMembers.value(of: member, in: old) else {
      return .gone
    }
    let new = old[..<place.lowerBound] + list.text + old[place.upperBound...]
    return new.withUnsafeBytes { .rest(request.value($0)) }
  }
}

extension ScheduledRequest {
  /// The record's value, with the request's JSON.
  func value(_ json: UnsafeRawBufferPointer) -> [UInt8] {
    var buffer = ByteBuffer()
    Array(traceParent.utf8).withUnsafeBytes { append(to: &buffer, traceParent: $0, request: json) }
    return Array(buffer.bytes)
  }
}
