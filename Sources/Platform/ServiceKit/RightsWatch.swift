// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Kafka

/// Asks the cluster which of the program's rights it has: to see its topics, and to read them. Kafka has no
/// question for the right to write: the producers' first
/// records tell (`ProducerWatch`). Owned by one thread.
struct RightsWatch {
  private static let answerMilliseconds: Int32 = 2_000

  private let configuration: KafkaConfiguration
  private let board: RightsBoard
  private var probe: ReadProbe?

  init(_ configuration: KafkaConfiguration, _ board: RightsBoard) {
    self.configuration = configuration
    self.board = board
  }

  /// The cluster's topics; tells the board what the cluster says of the program's.
  mutating func look(_ admin: KafkaAdmin) throws(KafkaError) -> TopicListing {
    let rights = board.rights
    let listing = try admin.topicListing(
      naming: rights?.topics ?? [], timeoutMilliseconds: Self.answerMilliseconds)
    board.saw(listing)
    let readable = (rights?.readTopics ?? []).filter { listing.sizes[$0] != nil }
    if !readable.isEmpty { read(readable) }
    return listing
  }

  private mutating func read(_ topics: [String]) {
    // It can only fail for want of memory or threads; then the next look tries again.
    if probe == nil { probe = try? ReadProbe(configuration) }
    guard let probe else { return }
    for (topic, answer) in probe.ask(topics, timeoutMilliseconds: Self.answerMilliseconds) {
      switch answer {
      case .allowed: board.allowed(.read, .topic(topic))
      case .refused(let error): board.refused(.read, .topic(topic), error)
      case .unanswered: break
      }
    }
  }
}
