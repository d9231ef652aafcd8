// SPDX-License-Identifier: Apache-2.0

internal import CSimdjson
public import Contract
public import EventLoop

/// A valid request, as views of the reader's memory: valid until its next read.
public struct PushRequest {
  private static var nothing: UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: nil, count: 0)
  }

  /// The bundle id.
  public internal(set) var app = nothing
  public internal(set) var environment = RequestDefaults.environment
  public internal(set) var type = RequestDefaults.type(isBroadcast: false)
  /// The push type as spelled in `apns-push-type`.
  public internal(set) var typeName = nothing
  /// The suffix after the bundle id in the topic of this type.
  public internal(set) var topicSuffix = nothing
  /// The topic, if the request gave one; otherwise the app plus the type's suffix.
  public internal(set) var topic = nothing
  public internal(set) var lane = RequestDefaults.lane
  public internal(set) var laneName = nothing
  public internal(set) var priority: UInt8 = 0
  /// Epoch seconds, if given; see `expiration(created:)`.
  public internal(set) var expiration: Int64?
  /// Seconds after the request, if given instead.
  public internal(set) var expiresIn: Int64?
  /// When to send it, in milliseconds since the epoch; nil for at once.
  public internal(set) var sendAt: Int64?
  /// Whether the schedule may have to keep it: it has a `send_at`, or is to users.
  public internal(set) var isForSchedule = false
  /// The request id, unescaped; empty if there is none.
  public internal(set) var id = nothing
  /// The request id as escaped in the JSON.
  public internal(set) var escapedID = nothing
  /// The `apns-id` given by the caller; otherwise one is derived for each token.
  public internal(set) var apnsID: NotificationID?
  /// The body for APNs, byte for byte.
  public internal(set) var payload = nothing
  public internal(set) var tokens = RequestTokens(nil, 0)
  /// Header fields that the request names itself.
  public internal(set) var headers = RequestMembers()
  /// Data returned in the receipt; nil for none, which differs from no members.
  public internal(set) var data: RequestMembers?
  /// True if there are headers, data or carried texts.
  public internal(set) var isCarrying = false
  /// The channel of a broadcast; empty for device pushes.
  public internal(set) var channel = nothing
  /// True if the payload has neither alert nor sound.
  public internal(set) var isSilent = false
  /// Mistakes in the payload that devices ignore.
  public internal(set) var warnings = PayloadWarnings()
  /// Its role in the states of an activity.
  public internal(set) var activity = Activity.none
  /// True if it starts its activity only when that is not running.
  public internal(set) var isStartOrUpdate = false
  /// The field with the tokens: `token` or `tokens`.
  public internal(set) var tokenField = RequestField.token

  /// The role of a push in the states of a Live Activity or a media session.
  public enum Activity: UInt8, Sendable {
    /// Not about an activity.
    case none
    case start
    case update
    case end

    /// The name in `event`.
    public var name: String { self == .none ? "" : "\(self)" }
  }

  /// The default key by which a newer push supersedes older ones: the device token identifies the activity, so all
  /// pushes to it share one key. A channel's viewers may have missed any of them, so broadcasts have none.
  var defaultKey: StaticString? {
    switch activity {
    case .none, .start: nil
    case .update, .end: isBroadcast ? nil : "activity"
    }
  }

  /// The users named by the request; if it also has tokens, their devices have been looked up.
  public var users: [UnsafeBufferPointer<UInt8>] {
    guard isForSchedule, let raw else { return [] }
    return raw.users
  }

  /// Whether the devices of its users still have to be looked up.
  public var isToUsers: Bool {
    guard isForSchedule, let raw else { return false }
    return raw.hasUsers && !raw.has(.tokens) && !raw.has(.token) && !raw.has(.channel)
  }

  /// Whether the devices of its users have been looked up.
  public var isResolved: Bool {
    guard isForSchedule, let raw else { return false }
    return raw.hasUsers && (raw.has(.tokens) || raw.has(.channel))
  }

  /// The user's activity that the request is about; empty for none.
  public var activityName: UnsafeRawBufferPointer {
    guard isForSchedule, let raw, raw.has(.activity) else { return Self.nothing }
    return UnsafeRawBufferPointer(raw.text(.activity))
  }

  /// Whether it goes to a channel.
  public var isBroadcast: Bool { !channel.isEmpty }

  /// The `apns-expiration` in epoch seconds for a request made at `created` (milliseconds since the epoch).
  public func expiration(created: Int64) -> Int64? {
    guard let expiresIn else { return expiration }
    return RequestRules.expiration(in: expiresIn, created: created)
  }

  /// Checks that `send_at` is not too far after the request was written (milliseconds since the epoch).
  public func checkSendAt(received: Int64) throws(RequestError) {
    if let sendAt { try RequestRules.checkSendAt(sendAt, received: received) }
  }

  /// Checks that the schedule may keep it, unless it comes from there: the scheduler looks the devices of users up when
  /// a request is due, and so is sure whose they are. Devices that were given beside a user may have another one by then.
  public func checkMayWait() throws(RequestError) {
    guard isResolved, let raw else { return }
    throw RequestError(raw.has(.user) ? .user : .users, .userAndTarget)
  }

  /// Checks that it names a device, unless it comes from the scheduler, which knows that its users have none. Typed
  /// clients write a list that they leave out as an empty one.
  public func checkNamesDevice() throws(RequestError) {
    guard isResolved, !isBroadcast, tokens.count == 0 else { return }
    throw RequestError(.tokens, .noTokens)
  }

  /// The parser's result; nil if there are no carried fields.
  var raw: UnsafeMutablePointer<martlet_request>?

  /// The text of a carried field; empty if there is none.
  public subscript(_ field: CarriedField) -> UnsafeRawBufferPointer {
    guard isCarrying, let raw, let field = field.row.request, raw.has(field) else {
      return Self.nothing
    }
    return UnsafeRawBufferPointer(raw.text(field))
  }

  /// An empty request, to be filled.
  public init() {}
}

/// The members of a request's `headers` or `data`: names and values, all strings.
public struct RequestMembers {
  let entries: UnsafeBufferPointer<martlet_member>

  init(_ members: martlet_members = martlet_members()) {
    entries = UnsafeBufferPointer(start: members.members, count: members.count)
  }

  public var isEmpty: Bool { entries.isEmpty }

  var bytes: Int { entries.reduce(0) { $0 + $1.name.count + $1.value.count } }

  /// Size in bytes as a JSON object without white space.
  var objectBytes: Int {
    let content = entries.reduce(0) { $0 + $1.raw_name.count + $1.raw_value.count }
    return 2 + content + entries.count * 5 + max(0, entries.count - 1)
  }

  /// The first name that appears twice.
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

  /// Appends the members as keyed fields of an envelope.
  func appendFields(to buffer: inout ByteBuffer) {
    for entry in entries {
      buffer.append("\t")
      buffer.append(UnsafeRawBufferPointer(entry.name))
      buffer.append("=")
      buffer.append(UnsafeRawBufferPointer(entry.value))
    }
  }

  /// Appends the members as a JSON object without white space, with strings as in the request.
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
  var hasUsers: Bool { pointee.present & 3 << UInt32(RequestField.user.rawValue) != 0 }

  var users: [UnsafeBufferPointer<UInt8>] {
    if has(.user) { return [text(.user)] }
    guard has(.users) else { return [] }
    return UnsafeBufferPointer(start: pointee.users.slices, count: pointee.users.count).map {
      UnsafeBufferPointer(start: $0.bytes, count: $0.count)
    }
  }

  func has(_ field: RequestField) -> Bool { pointee.present & 1 << UInt32(field.rawValue) != 0 }

  /// The unescaped text of a field that was given.
  func text(_ field: RequestField) -> UnsafeBufferPointer<UInt8> {
    let slice = withUnsafeBytes(of: &pointee.text) {
      $0.bindMemory(to: martlet_slice.self)[Int(field.rawValue)]
    }
    return UnsafeBufferPointer(start: slice.bytes, count: slice.count)
  }
}

/// The device tokens of a request as given, not yet checked.
public struct RequestTokens {
  private let entries: UnsafeBufferPointer<martlet_token>

  init(_ entries: UnsafePointer<martlet_token>?, _ count: Int) {
    self.entries = UnsafeBufferPointer(start: entries, count: count)
  }

  public var count: Int { entries.count }

  /// The text of a token; for an entry that is not a string, its JSON.
  public subscript(index: Int) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: entries[index].bytes, count: Int(entries[index].count))
  }

  /// Copies a token in lower case to `destination`, which has room for 512 bytes: `DeviceToken.normalized` without
  /// allocation.
  ///
  /// Throws the token's fault. Returns the number of digits.
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
      // Counting continues so that the error can give the length.
      if digits < DeviceToken.maximumDigits {
        // The bit that makes letters lower case; it is already set in digits.
        destination[digits] = byte | 0x20
      }
      digits += 1
    }
    try DeviceToken.validateLength(digits)
    return digits
  }

  /// Copies a token of only digits, the usual case; false for any other text.
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
