// SPDX-License-Identifier: Apache-2.0

public import APNS
public import Bytes
internal import CSimdjson
public import Contract

/// A request that keeps the rules, as views of the reader's memory: valid until its next read.
public struct PushRequest {
  private static var nothing: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The bundle id.
  public internal(set) var app = nothing
  public internal(set) var environment = RequestDefaults.environment
  public internal(set) var type = RequestDefaults.type(isBroadcast: false)
  /// The type as `apns-push-type` spells it.
  public internal(set) var typeName = nothing
  /// What follows the bundle id in the topic of this type.
  public internal(set) var topicSuffix = nothing
  /// The topic, if the request gave one; otherwise it is app and the type's suffix.
  public internal(set) var topic = nothing
  public internal(set) var lane = RequestDefaults.lane
  public internal(set) var laneName = nothing
  public internal(set) var priority: UInt8 = 0
  /// Epoch seconds, if the request gave them; see `expiration(created:)`.
  public internal(set) var expiration: Int64?
  /// Seconds after the request, if it gave those instead.
  public internal(set) var expiresIn: Int64?
  /// When it is to be sent, in milliseconds since the epoch; nil for at once.
  public internal(set) var sendAt: Int64?
  /// Whether the schedule may have to keep it: it has a time, or is to people.
  public internal(set) var isForSchedule = false
  /// The request id, unescaped; empty if there is none.
  public internal(set) var id = nothing
  /// The request id as it stands in the JSON.
  public internal(set) var escapedID = nothing
  /// Given by the caller; otherwise it is derived for each token.
  public internal(set) var apnsID: NotificationID?
  /// The body for APNs, byte for byte.
  public internal(set) var payload = nothing
  public internal(set) var tokens = RequestTokens(nil, 0)
  /// Header fields that the request names itself.
  public internal(set) var headers = RequestMembers()
  /// Data that come back in the receipt; nil for none, which is not the same as no members.
  public internal(set) var data: RequestMembers?
  /// True if there are header fields, data or texts that are only carried.
  public internal(set) var isCarrying = false
  /// The channel that a broadcast goes to, in place of tokens; empty for devices.
  public internal(set) var channel = nothing
  /// The payload has neither alert nor sound.
  public internal(set) var isSilent = false
  /// What devices will ignore of the payload.
  public internal(set) var warnings = PayloadWarnings()
  /// The part that it has in the states of an activity.
  public internal(set) var activity = Activity.none
  /// It starts its activity only if that is not running.
  public internal(set) var isStartOrUpdate = false
  /// The field that the tokens came in: `token` or `tokens`.
  public internal(set) var tokenField = RequestField.token

  /// The part that a push has in the states of a Live Activity or a media session.
  public enum Activity: UInt8, Sendable {
    /// It is about none.
    case none
    case start
    case update
    case end

    /// The spelling of `event`.
    public var name: String { self == .none ? "" : "\(self)" }
  }

  /// The key by which a newer push supersedes older ones, if the request names none: the device token names the activity,
  /// so all pushes to it have one key. A channel's viewers may have missed any of them.
  var defaultKey: StaticString? {
    switch activity {
    case .none, .start: nil
    case .update, .end: isBroadcast ? nil : "activity"
    }
  }

  /// The users that it is to, or was: with tokens beside them their devices were looked up.
  public var users: [UnsafeBufferPointer<UInt8>] {
    guard isForSchedule, let raw else { return [] }
    return raw.users
  }

  /// Whether the devices of its users are still to be looked up.
  public var isToUsers: Bool {
    guard isForSchedule, let raw else { return false }
    return raw.hasUsers && !raw.has(.tokens) && !raw.has(.token) && !raw.has(.channel)
  }

  /// Whether the devices of its users were looked up.
  public var isResolved: Bool {
    guard isForSchedule, let raw else { return false }
    return raw.hasUsers && (raw.has(.tokens) || raw.has(.channel))
  }

  /// The activity of its user that it is about; empty for none.
  public var activityName: UnsafeRawBufferPointer {
    guard isForSchedule, let raw, raw.has(.activity) else { return Self.nothing }
    return UnsafeRawBufferPointer(raw.text(.activity))
  }

  /// Whether it goes to a channel.
  public var isBroadcast: Bool { !channel.isEmpty }

  /// `apns-expiration` in epoch seconds of a request that was made at `created` (milliseconds since the epoch).
  public func expiration(created: Int64) -> Int64? {
    guard let expiresIn else { return expiration }
    return RequestRules.expiration(in: expiresIn, created: created)
  }

  /// Checks that its time is not too far ahead of when it was written (milliseconds since the epoch).
  public func checkSendAt(received: Int64) throws(RequestError) {
    if let sendAt { try RequestRules.checkSendAt(sendAt, received: received) }
  }

  /// The parser's result; nil if nothing is only carried.
  var raw: UnsafeMutablePointer<martlet_request>?

  /// The text of a field that is only carried; empty if there is none.
  public subscript(_ field: CarriedField) -> UnsafeRawBufferPointer {
    guard isCarrying, let raw, let field = field.row.request, raw.has(field) else {
      return Self.nothing
    }
    return UnsafeRawBufferPointer(raw.text(field))
  }

  /// An empty one, to be replaced.
  public init() {}
}

/// The members of a request's `headers` or `data`: names and values, which are all strings.
public struct RequestMembers {
  let entries: UnsafeBufferPointer<martlet_member>

  init(_ members: martlet_members = martlet_members()) {
    entries = UnsafeBufferPointer(start: members.members, count: members.count)
  }

  public var isEmpty: Bool { entries.isEmpty }

  /// Bytes of all names and values.
  var bytes: Int { entries.reduce(0) { $0 + $1.name.count + $1.value.count } }

  /// Bytes as a JSON object without white space.
  var objectBytes: Int {
    let content = entries.reduce(0) { $0 + $1.raw_name.count + $1.raw_value.count }
    return 2 + content + entries.count * 5 + max(0, entries.count - 1)
  }

  /// The first name that stands there twice.
  var duplicate: UnsafeRawBufferPointer? {
    for (place, entry) in entries.enumerated() {
      let name = UnsafeRawBufferPointer(entry.name)
      if entries[..<place].contains(where: { name.elementsEqual(UnsafeRawBufferPointer($0.name)) })
      {
        return name
      }
    }
    return nil
  }

  /// Appends them as keyed fields of an envelope.
  func appendFields(to buffer: inout ByteBuffer) {
    for entry in entries {
      buffer.append("\t")
      buffer.append(UnsafeRawBufferPointer(entry.name))
      buffer.append("=")
      buffer.append(UnsafeRawBufferPointer(entry.value))
    }
  }

  /// Appends them as a JSON object without white space, their strings as they stand in the request.
  public func appendObject(to buffer: inout ByteBuffer) {
    var separator: StaticString = "{\""
    for entry in entries {
      buffer.append(separator)
      buffer.append(UnsafeRawBufferPointer(entry.raw_name))
      buffer.append("\":\"")
      buffer.append(UnsafeRawBufferPointer(entry.raw_value))
      separator = "\",\""
    }
    buffer.append(entries.isEmpty ? "{}" : "\"}" as StaticString)
  }
}

extension UnsafeRawBufferPointer {
  init(_ slice: martlet_slice) { self.init(start: slice.bytes, count: slice.count) }
}

extension UnsafeMutablePointer<martlet_request> {
  /// Checks that it names users.
  var hasUsers: Bool { pointee.present & 3 << UInt32(RequestField.user.rawValue) != 0 }

  /// The users that it names, one by `user` or those of `users`.
  var users: [UnsafeBufferPointer<UInt8>] {
    if has(.user) { return [text(.user)] }
    guard has(.users) else { return [] }
    return UnsafeBufferPointer(start: pointee.users.slices, count: pointee.users.count).map {
      UnsafeBufferPointer(start: $0.bytes, count: $0.count)
    }
  }

  /// Checks that the field was given.
  func has(_ field: RequestField) -> Bool { pointee.present & 1 << UInt32(field.rawValue) != 0 }

  /// The unescaped text of a field that was given.
  func text(_ field: RequestField) -> UnsafeBufferPointer<UInt8> {
    let slice = withUnsafeBytes(of: &pointee.text) {
      $0.bindMemory(to: martlet_slice.self)[Int(field.rawValue)]
    }
    return UnsafeBufferPointer(start: slice.bytes, count: slice.count)
  }
}

/// The device tokens of a request as they were given: not yet judged.
public struct RequestTokens {
  private let entries: UnsafeBufferPointer<martlet_token>

  init(_ entries: UnsafePointer<martlet_token>?, _ count: Int) {
    self.entries = UnsafeBufferPointer(start: entries, count: count)
  }

  public var count: Int { entries.count }

  /// The text of a token; for an entry that is no string, its JSON.
  public subscript(index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: entries[index].bytes, count: Int(entries[index].count))
  }

  /// Copies a token in lower case to `destination`, which has room for 512 bytes: as `DeviceToken.normalized`, of which
  /// this is the form without allocation.
  ///
  /// Throws what is wrong with it. Returns the number of digits.
  public func normalize(
    _ index: Int, into destination: UnsafeMutablePointer<UInt8>
  ) throws(DeviceToken.Problem) -> Int {
    let entry = entries[index]
    guard entry.is_string != 0 else { throw .notText }
    guard entry.count > 0, let text = entry.bytes else { throw .empty }
    if Self.copyDigits(UnsafeRawPointer(text), Int(entry.count), to: destination) {
      return Int(entry.count)
    }
    var digits = 0
    let span = UnsafeBufferPointer(start: text, count: Int(entry.count)).span
    for position in DeviceToken.trimmed(span) {
      let byte = text[position]
      if HexDigit.value(byte) > 15 {
        if DeviceToken.isDecoration(byte) { continue }
        throw .notHexadecimal(at: position, DeviceToken.TokenLookalike(span))
      }
      // Counted on, so that the error can tell the length.
      if digits < DeviceToken.maximumDigits {
        // Sets the bit that makes a letter lower case; digits have it already.
        destination[digits] = byte | 0x20
      }
      digits += 1
    }
    try DeviceToken.validateLength(digits)
    return digits
  }

  /// Copies a token that is digits and nothing else, as nearly all are; false if it is another one.
  private static func copyDigits(
    _ text: UnsafeRawPointer, _ count: Int, to destination: UnsafeMutablePointer<UInt8>
  ) -> Bool {
    guard count <= DeviceToken.maximumDigits, count % 2 == 0 else { return false }
    let copy = UnsafeMutableRawPointer(destination)
    var invalid: UInt64 = 0
    let whole = count & ~7
    for position in stride(from: 0, to: whole, by: 8) {
      let word = text.loadUnaligned(fromByteOffset: position, as: UInt64.self)
      copy.storeBytes(
        of: HexWord.lowercase(word, &invalid), toByteOffset: position, as: UInt64.self)
    }
    for position in whole..<count {
      let byte = text.load(fromByteOffset: position, as: UInt8.self)
      invalid |= UInt64(HexDigit.isNone(byte))
      destination[position] = byte | 0x20
    }
    return invalid == 0
  }
}
