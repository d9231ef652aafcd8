// SPDX-License-Identifier: Apache-2.0
import Contract
import EmbeddedKafka
import Kafka
import Records

@testable import HTTPServer
@testable import LabCommand

/// An embedded broker that is started with the first request for it.
final class BrokerUnderControl {
  private lazy var routes: [HTTPRoute] = {
    guard let broker = try? EmbeddedBroker(brokers: 2) else { return [] }
    let topics = [TopicSpecification(name: "push.requests", partitions: 4)]
    for topic in topics {
      try? broker.createTopic(.init(topic.name, partitions: Int(topic.partitions)))
    }
    return BrokerControl(broker, topics).routes
  }()

  /// Says which invariant the answer to a request breaks: every page answers in JSON, with words where it
  /// refuses.
  ///
  /// - Parameter head: method and path.
  func violation(_ head: String, _ body: [UInt8], _ parser: JSONParser) -> String? {
    let words = head.split(separator: " ").map(String.init)
    guard words.count == 2,
      let route = routes.first(where: { $0.covers(words[1]) && $0.takes(words[0]) })
    else { return nil }
    let response = route.handler(
      HTTPRequest(method: words[0], path: words[1], query: [], body: body))
    guard case .bytes(let text) = response.body, let answer = try? parser.parse(text) else {
      return "an answer that is no JSON"
    }
    if response.status == 200 { return answer["status"]?.string == "ok" ? nil : "200 and not ok" }
    return answer["error"]?.string?.isEmpty == false ? nil : "refused without words"
  }
}
