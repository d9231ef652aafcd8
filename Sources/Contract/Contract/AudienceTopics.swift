// SPDX-License-Identifier: Apache-2.0

/// The topics that campaigns may use for device tokens: `push.audiences`, topics whose names begin with that and a dot,
/// and those with a prefix of `--audience-topics`. Restricted because whoever starts a campaign chooses the topic and
/// learns its number of lines, and reading one of the pipeline's own topics may never end.
public struct AudienceTopics: Equatable, Sendable {
  private let names: TopicNames
  private let prefixes: [String]

  /// - Parameter prefixes: the prefixes of further topics.
  public init(_ names: TopicNames, prefixes: [String] = []) {
    (self.names, self.prefixes) = (names, prefixes)
  }

  /// True for the name of a topic of device tokens, existing or not. Never for another topic of the pipeline, whatever
  /// the prefixes.
  public func contains(_ topic: String) -> Bool {
    if topic.utf8.elementsEqual(names.audiences.utf8) { return true }
    guard !names.isOwn(topic) else { return false }
    return ([names.audiences + "."] + prefixes).contains { topic.utf8.starts(with: $0.utf8) }
  }

  /// The reason why another topic is refused, as the end of a sentence, without information about that topic.
  public var problem: String {
    "is not a topic of device tokens: name \(names.audiences), one that begins with \(names.audiences)., or one with a"
      + " prefix of --audience-topics"
  }
}
