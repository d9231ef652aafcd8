// SPDX-License-Identifier: Apache-2.0

/// Turns the start of a Live Activity that is already running into an update: the same request, with the event `update`
/// and without the members that only a start may have. Everything else stays byte for byte.
public enum StartedActivity {
  /// Members of `aps` that only a start uses or may have.
  private static let ofStart: Set<[UInt8]> = [
    Array("attributes".utf8), Array("attributes-type".utf8), Array("input-push-token".utf8),
    Array("input-push-channel".utf8),
  ]
  private static let event = Array("event".utf8)
  private static let update = Array("\"update\"".utf8)

  /// The request as an update.
  ///
  /// - Parameter json: a valid request with `event` `start_or_update` and the payload of a start.
  public static func update(of json: [UInt8]) -> [UInt8] {
    JSONMembers.edited(json, of: 0..<json.count) { name, value in
      if name == event { return update }
      guard name == Array("payload".utf8) else { return Array(json[value]) }
      return JSONMembers.edited(json, of: value) { name, value in
        guard name == Array("aps".utf8) else { return Array(json[value]) }
        return JSONMembers.edited(json, of: value) { name, value in
          if ofStart.contains(name) { return nil }
          return name == event ? update : Array(json[value])
        }
      }
    }
  }
}
