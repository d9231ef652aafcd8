// SPDX-License-Identifier: Apache-2.0
public import Contract
import Crypto
public import Records

/// The notifications that a request asks for, derived from its text alone by the public rule for `apns-id`s. The demo
/// checks the pipeline's reports against them.
public enum RequestLine {
  /// The ids of all notifications, one per token; empty if the text is not sufficient to derive any (then the whole
  /// request must become a dead letter).
  ///
  /// - Parameter origin: `topic`, partition and offset of the record, which replace a missing id.
  public static func ids(
    _ text: UnsafeRawBufferPointer, topic: String, partition: Int32, offset: Int64,
    parser: JSONParser
  ) -> [NotificationID] {
    guard let root = (try? parser.parse(text))?.object, let app = root.given("app")?.string else {
      return []
    }
    if let own = root.given("apns_id")?.string, let id = NotificationID(own) { return [id] }
    let environment = root.given("environment")?.string ?? "\(RequestDefaults.environment)"
    let id = root.given("id")?.string ?? "\(topic)/\(partition)/\(offset)"
    if let channel = root.given("channel")?.string {
      return [derive(app: app, environment: environment, id: id, key: "channel:\(channel)")]
    }
    let tokens = root.given("tokens")?.array ?? root.given("token").map { [$0] } ?? []
    return tokens.compactMap { token in
      token.string.map { derive(app: app, environment: environment, id: id, token: $0) }
    }
  }

  /// UUIDv5 of app, environment, request id and token (`channel:<id>` for a broadcast), separated by NUL.
  public static func derive(
    app: String, environment: String, id: String, token: String
  ) -> NotificationID {
    derive(app: app, environment: environment, id: id, key: token.lowercased())
  }

  private static func derive(
    app: String, environment: String, id: String, key: String
  ) -> NotificationID {
    var name: [UInt8] = []
    for half in [NotificationID.namespace.high, NotificationID.namespace.low] {
      for shift in stride(from: 56, through: 0, by: -8) {
        name.append(UInt8(truncatingIfNeeded: half >> UInt64(shift)))
      }
    }
    for (index, part) in [app, environment, id, key].enumerated() {
      if index > 0 { name.append(0) }
      name.append(contentsOf: part.utf8)
    }
    return NotificationID(version5Digest: SHA1.digest(name).span)
  }
}
