// SPDX-License-Identifier: Apache-2.0
public import APNS
import Contract
public import JSON
import Signing

/// Which notifications a request asks for, worked out from its text alone by the public rule for
/// `apns-id`s: what the demo holds the pipeline's own reports against.
public enum RequestLine {
  /// The ids of all notifications, one for each token; empty when the text does not say enough to
  /// know any (then the whole request must become a dead letter).
  ///
  /// - Parameter origin: `topic`, partition and offset of the record, which stand for a missing id.
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

  /// UUIDv5 of app, environment, request id and token (of a broadcast `channel:<id>`), separated by NUL.
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
