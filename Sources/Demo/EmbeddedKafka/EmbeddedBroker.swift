// SPDX-License-Identifier: Apache-2.0
public import BrokerCore
public import Kafka

/// The Kafka broker inside this process (`BrokerServer`), as commands and tests use it. Safe to use from any thread.
public final class EmbeddedBroker: Sendable {
  let server: BrokerServer

  /// The number of brokers that it simulates, numbered from 1.
  public var brokers: Int { server.count }
  /// `host:port[,host:port…]` for clients in any process of this machine.
  public var bootstrap: String { server.bootstrap }
  /// The number of records written since the start.
  public var records: UInt64 { server.withNode { node, _ in node.appended } }
  /// The reason why the last records were rejected for lack of space; nil if they were not.
  public var storageProblem: String? { server.withNode { node, _ in node.storageProblem } }

  /// Starts the broker and creates the missing topics.
  ///
  /// - Parameters:
  ///   - brokers: The number of brokers to simulate.
  ///   - port: The port of the first broker on 127.0.0.1; 0 uses a free one.
  ///   - folder: The folder for records; nil keeps them in memory.
  ///   - access: The users and their rights.
  ///   - createsTopics: Whether a missing topic is created when a client asks for it.
  public init(
    _ topics: [BrokerTopic] = [], brokers: Int = 1, port: UInt16 = 0, folder: String? = nil,
    access: AccessControl = AccessControl(), createsTopics: Bool = false
  ) throws(KafkaError) {
    var settings = BrokerServer.Settings()
    settings.brokers = brokers
    settings.port = port
    settings.folder = folder
    settings.access = access
    settings.node.createsTopics = createsTopics
    do {
      server = try BrokerServer(settings)
    } catch {
      throw .invalid("cannot start the embedded broker: \(error)")
    }
    for topic in topics { try createTopic(topic) }
  }

  /// Changes the users and their rights, effective from the next request, also on existing connections.
  public func changeAccess(_ change: @escaping @Sendable (inout AccessControl) -> Void) {
    server.withNode { node, _ in change(&node.access) }
  }

  /// Creates a missing topic. Otherwise topics are created only by a client's CreateTopics and, with `createsTopics`,
  /// Metadata.
  public func createTopic(_ topic: BrokerTopic) throws(KafkaError) {
    var settings = TopicSettings()
    for (name, value) in topic.settings {
      if let problem = settings.set(name, value) {
        throw .invalid("topic \(topic.name): \(problem)")
      }
    }
    let wanted = settings
    let problem = server.withNode { node, storage -> String? in
      do throws(StorageFull) {
        try node.create(topic.name, partitions: Int32(topic.partitions), wanted, storage)
        return nil
      } catch {
        return error.reason
      }
    }
    if let problem { throw .invalid("cannot create topic \(topic.name): \(problem)") }
  }
}
