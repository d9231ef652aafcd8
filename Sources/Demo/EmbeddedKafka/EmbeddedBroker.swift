// SPDX-License-Identifier: Apache-2.0
import Broker
public import BrokerCore
public import Kafka

/// The Kafka broker of one machine inside this process (`BrokerServer`), as the commands and the tests use it. Safe to use
/// from any thread.
public final class EmbeddedBroker: Sendable {
  let server: BrokerServer

  /// The number of brokers that it pretends to be; they are numbered from 1.
  public var brokers: Int { server.count }
  /// `host:port[,host:port…]` for clients in any process of this machine.
  public var bootstrap: String { server.bootstrap }
  /// Records that were written since its start.
  public var records: UInt64 { server.withNode { node, _ in node.appended } }
  /// Why the last records were refused for want of room; nil if they were not.
  public var storageProblem: String? { server.withNode { node, _ in node.storageProblem } }

  /// Starts the broker and creates those of its topics that it does not have.
  ///
  /// - Parameters:
  ///   - brokers: how many brokers it pretends to be.
  ///   - port: of the first of them, on 127.0.0.1; 0 takes a free one.
  ///   - folder: where it keeps its records; nil keeps them in memory.
  ///   - access: who may do what.
  ///   - createsTopics: makes a topic that a client asks for and that is not there.
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

  /// Changes who may do what: from the next request on, also on connections that are there already.
  public func changeAccess(_ change: @escaping @Sendable (inout AccessControl) -> Void) {
    server.withNode { node, _ in change(&node.access) }
  }

  /// Creates a topic that is not there yet: the only way in which one comes to be, beside a client's CreateTopics and,
  /// with `createsTopics`, Metadata.
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
