// SPDX-License-Identifier: Apache-2.0

public import APNS
internal import Bytes
internal import CSimdjson
public import Pipeline

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
  /// Empty if there is none.
  public internal(set) var collapseID = nothing
  /// The request id, unescaped; empty if there is none.
  public internal(set) var id = nothing
  /// The request id as it stands in the JSON.
  public internal(set) var escapedID = nothing
  /// Given by the caller; otherwise it is derived for each token.
  public internal(set) var apnsID: NotificationID?
  /// The body for APNs, byte for byte.
  public internal(set) var payload = nothing
  public internal(set) var tokens = RequestTokens(nil, 0)
  /// The channel that a broadcast goes to, in place of tokens; empty for devices.
  public internal(set) var channel = nothing
  /// The payload asks for something that has no effect; see `PayloadRules.isIneffective`.
  public internal(set) var hasIneffectiveKey = false
  /// The field that the tokens came in: `token` or `tokens`.
  public internal(set) var tokenField = RequestField.token

  /// Whether it goes to a channel.
  public var isBroadcast: Bool { !channel.isEmpty }

  /// `apns-expiration` in epoch seconds of a request that was made at `created` (milliseconds since the epoch).
  public func expiration(created: Int64) -> Int64? {
    guard let expiresIn else { return expiration }
    return RequestRules.expiration(in: expiresIn, created: created)
  }

  /// An empty one, to be replaced.
  public init() {}
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
        throw .notHexadecimal(at: position, DeviceToken.Disguise(span))
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
