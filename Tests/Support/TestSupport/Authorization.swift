// SPDX-License-Identifier: Apache-2.0
import BrokerCore
import Diagnosis

/// The authorizer's part in one request: what the user may not do is refused in the broker's stead, or taken out of the
/// request and out of the broker's answer.
struct Authorization {
  let user: AuthorizedUser
  /// The port at which clients find the broker.
  let port: UInt16

  /// - Parameter forward: has the broker answer; nil when the connection ended.
  func answer(to frame: [UInt8], forward: ([UInt8]) -> [UInt8]?) -> [UInt8]? {
    guard let request = try? Request(frame[...]) else { return forward(frame) }
    if let error = refusal(request) {
      return written(Refusal.answer(to: request.body, request.api, error), request)
    }
    if request.api.key == 8 { return commit(request, forward) }
    guard let answer = forward(frame), let body = request.answer(in: answer[...]) else {
      return nil
    }
    return changed(body, request).map { written($0, request) } ?? answer
  }

  private func written(_ body: Value, _ request: Request) -> [UInt8] {
    let frame = Request.answer(
      body, to: request.api, version: request.version, correlation: request.correlation)
    return Array(frame.bytes.dropFirst(4))
  }

  private func may(_ operation: KafkaRight.Operation, _ topic: Value) -> Bool {
    user.may(operation, .topic(topic["Name"].text))
  }

  /// Why a request is refused as a whole.
  private func refusal(_ request: Request) -> ErrorCode? {
    let body = request.body
    switch request.api.key {
    // librdkafka's requests have one partition each.
    case 0: return body["Topics"].list.allSatisfy { may(.write, $0) } ? nil : .topicNotAuthorized
    case 22: return user.mayWrite ? nil : .clusterNotAuthorized
    case 32: return .topicNotAuthorized
    case 8, 9, 10, 11, 12, 14:
      let first = body["Groups"].list.first?["GroupId"] ?? body["Coordinators"].list.first
      let named = request.api.key == 10 ? body["Key"] : body["GroupId"]
      return user.may(.read, .group((first ?? named).text)) ? nil : .groupNotAuthorized
    default: return nil
    }
  }

  /// What the user gets of an answer; nil for all of it.
  private func changed(_ body: Value, _ request: Request) -> Value? {
    switch request.api.key {
    case 1: return body.with("Topics", body["Topics"].map(readable))
    case 3: return shown(body, request.body["Topics"])
    case 10:
      let moved = body["Coordinators"].map { $0.with("Port", .number(port)) }
      return body.with("Coordinators", moved).with("Port", .number(port))
    case 18:
      // Later versions name topics by their ids.
      let keys = body["Keys"].map { $0["Key"] == 1 ? $0.with("Max", 12) : $0 }
      return body.with("Keys", keys)
    case 60: return body.with("Brokers", body["Brokers"].map { $0.with("Port", .number(port)) })
    default: return nil
    }
  }

  private func readable(_ topic: Value) -> Value {
    if may(.read, topic) { return topic }
    let error = Value.number(ErrorCode.topicNotAuthorized.rawValue)
    return topic.with(
      "Partitions", topic["Partitions"].map { ["Index": $0["Index"], "Error": error] })
  }

  /// `Metadata`: a list leaves out what the user may not see; asked for by name, that is refused.
  private func shown(_ body: Value, _ asked: Value) -> Value {
    let refused = Value.number(ErrorCode.topicNotAuthorized.rawValue)
    let isList = asked.list.isEmpty
    let topics = body["Topics"].list.filter { !isList || may(.describe, $0) }.map { topic in
      may(.describe, topic) ? topic : ["Error": refused, "Name": topic["Name"]]
    }
    return body.with("Topics", .list(topics)).with("ClusterId", "authorizing-cluster")
      .with("Brokers", body["Brokers"].map { $0.with("Port", .number(port)) })
  }

  /// Commits for the topics that the user may read, and refuses the rest.
  private func commit(_ request: Request, _ forward: ([UInt8]) -> [UInt8]?) -> [UInt8]? {
    let topics = request.body["Topics"].list
    let allowed = request.body.with("Topics", .list(topics.filter { may(.read, $0) }))
    let others = request.body.with("Topics", .list(topics.filter { !may(.read, $0) }))
    guard let answer = forward(request.frame(allowed)),
      let body = request.answer(in: answer[...])
    else { return nil }
    let refused = Refusal.answer(to: others, request.api, .topicNotAuthorized)
    return written(
      body.with("Topics", .list(body["Topics"].list + refused["Topics"].list)), request)
  }
}
