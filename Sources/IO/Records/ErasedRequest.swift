// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import Contract
public import Identity
public import JSON

/// What is left of an entry of `push.schedule` when a user and some devices are forgotten.
public enum ErasedRequest: Equatable, Sendable {
  /// It names none of them.
  case untouched
  /// It is to nobody else.
  case gone
  /// The value of its record without them.
  case rest([UInt8])

  /// - Parameters:
  ///   - value: of the record.
  ///   - user: whose name is forgotten; names are equal if each of their bytes is.
  ///   - tokens: of the devices that are forgotten.
  public init(
    _ value: UnsafeRawBufferPointer, key: ScheduleKey, without user: ExactText,
    _ tokens: Set<ExactText>,
    _ parser: JSONParser
  ) {
    switch try? ScheduleRecord(value) {
    case .request(let request):
      let json = ScheduleRecord.request(in: value)
      self =
        request.addressees.map { Self.people($0, request, json, user) }
        ?? Self.devices(json, request, tokens, parser)
    // The activity's user is in the key.
    case .activity:
      self = key.id.utf8.starts(with: "\t\(user)\t".utf8) ? .gone : .untouched
    case .cancellation, nil: self = .untouched
    }
  }

  private static func people(
    _ addressees: Addressees, _ request: ScheduledRequest, _ json: UnsafeRawBufferPointer,
    _ user: ExactText
  ) -> ErasedRequest {
    let rest = addressees.users.filter { $0 != user }
    guard rest.count < addressees.users.count else { return .untouched }
    var request = request
    request.addressees?.users = rest
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

  /// The request with another list; gone if that is empty, or if the member is not to be found.
  private static func with(
    _ list: JSONValue, as member: String, in json: UnsafeRawBufferPointer,
    of request: ScheduledRequest
  ) -> ErasedRequest {
    guard list.array?.isEmpty == false,
      let place = JSONMembers.value(of: member, in: json)
    else { return .gone }
    let new = Array(json[..<place.lowerBound]) + list.text + Array(json[place.upperBound...])
    return new.withUnsafeBytes { .rest(request.value($0)) }
  }
}

/// Finds a member of an object in its text, all of whose other bytes stay as they are: numbers keep their digits.
enum JSONMembers {
  /// Where the value of a member is; nil if the object has none of this name, spelled without escapes.
  ///
  /// - Parameter json: an object, known to be well-formed.
  static func value(of name: String, in json: UnsafeRawBufferPointer) -> Range<Int>? {
    let wanted = Array("\"\(name)\"".utf8)
    var (index, depth) = (0, 0)
    while index < json.count {
      switch json[index] {
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
      case UInt8(ascii: "\""):
        let end = endOfString(json, index)
        if depth == 1, json[index..<end].elementsEqual(wanted),
          let colon = next(json, end), json[colon] == UInt8(ascii: ":"),
          let start = next(json, colon + 1)
        {
          return start..<endOfValue(json, start)
        }
        index = end
        continue
      default: break
      }
      index += 1
    }
    return nil
  }

  /// The first byte from a place on that is no white space.
  private static func next(_ json: UnsafeRawBufferPointer, _ place: Int) -> Int? {
    json[min(place, json.count)...].firstIndex { $0 > 0x20 }
  }

  /// Behind the string that begins at a place.
  private static func endOfString(_ json: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var index = start + 1
    while index < json.count, json[index] != UInt8(ascii: "\"") {
      index += json[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    return min(index + 1, json.count)
  }

  private static func endOfValue(_ json: UnsafeRawBufferPointer, _ start: Int) -> Int {
    var (index, depth) = (start, 0)
    while index < json.count {
      switch json[index] {
      case UInt8(ascii: "\""):
        index = endOfString(json, index)
        if depth == 0 { return index }
        continue
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        if depth == 0 { return index }
        depth -= 1
        if depth == 0 { return index + 1 }
      case UInt8(ascii: ",") where depth == 0: return index
      default: break
      }
      index += 1
    }
    return index
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
