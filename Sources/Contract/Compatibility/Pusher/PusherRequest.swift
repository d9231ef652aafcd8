// SPDX-License-Identifier: Apache-2.0
public import APNS
import JSON

/// Makes requests of Martlet from records of topfreegames/pusher's topics (`push-GAME_apns-single`, `-massive`).
public struct PusherTranslator {
  private let environment: Environment
  private let parser = JSONParser()

  /// - Parameter environment: that of the APNs gateway; pusher takes it from its command line.
  public init(environment: Environment) { self.environment = environment }

  /// The request, as a record of `push.requests`.
  ///
  /// - Parameter app: the bundle id of the topic's game.
  public func request(
    _ value: UnsafeRawBufferPointer, app: String
  ) throws(CompatibilityError) -> [UInt8] {
    let message: JSONValue
    do throws(JSONError) {
      message = try parser.parse(value)
    } catch {
      throw CompatibilityError("", "is \(error)")
    }
    let fields = try GoObject(message)
    var request = JSONObject()
    request.append("app", .string(app))
    request.append("environment", .string(environment.description))
    request.append("token", .string(try fields.text("devicetoken")))
    request.appendText("collapse_id", try fields.text("collapse_id"))
    if let expiry = Self.expiration(try fields.integer("push_expiry")) {
      request.append("expiration", .integer(expiry))
    }
    request.append("payload", try payload(fields))
    return JSONValue.object(request).text
  }

  /// The later ones are no times in milliseconds; pusher sends them at any time.
  private static let latest: Int64 = 100_000_000_000_000

  /// Epoch seconds that a request may name, all long past (`RequestRules.earliestTime`): an earlier one, which pusher
  /// takes for past as well, becomes this.
  private static let earliest: Int64 = 1_000_000_000

  /// Epoch seconds, rounded up, of a time in milliseconds; 0 and what is below mean none.
  private static func expiration(_ milliseconds: Int64?) -> Int64? {
    guard let milliseconds, (1..<latest).contains(milliseconds) else { return nil }
    return max((milliseconds + 999) / 1_000, earliest)
  }

  /// The payload with the metadata at `M`, but for what stands there.
  private func payload(_ fields: GoObject) throws(CompatibilityError) -> JSONValue {
    guard let metadata = try fields.object("metadata") else {
      guard let payload = fields["payload"] else {
        throw CompatibilityError("payload", "is required")
      }
      return payload.sortedByKey
    }
    guard case .object(var payload)? = fields["payload"] ?? .object(JSONObject()) else {
      return fields["payload"] ?? .null
    }
    let old = payload.members.last { $0.key == "M" && !$0.value.isNull }?.value
    guard case .object(var merged) = old ?? .object(JSONObject()) else {
      return JSONValue.object(payload).sortedByKey
    }
    for member in metadata.members where merged.given(member.key) == nil {
      merged.append(member.key, member.value)
    }
    payload.append("M", .object(merged))
    return JSONValue.object(payload).sortedByKey
  }
}
