// SPDX-License-Identifier: Apache-2.0

/// The topics whose device tokens a campaign may be for: `push.audiences`, those whose names begin with it and a dot, and
/// those that begin with a prefix of `--audience-topics`. Whoever starts a campaign names the topic, and gets to know how
/// many lines it has; and to read one of the pipeline's own topics may take for ever.
public struct AudienceTopics: Equatable, Sendable {
  private let names: TopicNames
  private let prefixes: [String]

  /// - Parameter prefixes: of further topics.
  public init(_ names: TopicNames, prefixes: [String] = []) {
    (self.names, self.prefixes) = (names, prefixes)
  }

  /// True for a topic of device tokens, whether it exists or not. Never for another topic of the pipeline, whatever the
  /// prefixes are.
  public func contains(_ topic: String) -> Bool {
    if topic.utf8.elementsEqual(names.audiences.utf8) { return true }
    guard !names.isOwn(topic) else { return false }
    return ([names.audiences + "."] + prefixes).contains { topic.utf8.starts(with: $0.utf8) }
  }

  /// Why another topic is refused: the end of a sentence. It says nothing about that topic.
  public var problem: String {
    "is not a topic of device tokens: name \(names.audiences), one that begins with \(names.audiences)., or one with a"
      + " prefix of --audience-topics"
  }
}
