// SPDX-License-Identifier: Apache-2.0

/// A topic of pusher and the app that it is for: an entry `TOPIC=APP` of a setting.
public struct PusherTopic: Equatable, Sendable {
  public let name: String
  /// The bundle id.
  public let app: String

  /// pusher's name of the app: what stands between `push-` and the platform in the topic's name; the app without that.
  public var game: String {
    guard let match = name.prefixMatch(of: #/push-(\w+(?:[_\-]\w+)*)[\-_]apns/#) else { return app }
    return String(match.1)
  }

  /// The entries of a setting.
  ///
  /// - Throws: the end of a sentence about the setting.
  public static func all(_ texts: [String]) throws(CompatibilityError) -> [PusherTopic] {
    var topics: [PusherTopic] = []
    for text in texts {
      let parts = text.split(separator: "=", omittingEmptySubsequences: false)
      guard parts.count == 2, isName(parts[0]), isName(parts[1]) else {
        throw CompatibilityError("", "must be TOPIC=APP, such as push-game_apns-single=com.game")
      }
      let topic = PusherTopic(name: String(parts[0]), app: String(parts[1]))
      guard !topics.contains(where: { $0.name == topic.name }) else {
        throw CompatibilityError("", "\(topic.name) is given twice")
      }
      topics.append(topic)
    }
    return topics
  }

  /// Kafka's topics and Apple's bundle ids have the same characters.
  private static func isName(_ text: Substring) -> Bool {
    (1...249).contains(text.utf8.count)
      && text.utf8.allSatisfy { byte in
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x2E
          || byte == 0x5F
      }
  }
}
