// SPDX-License-Identifier: Apache-2.0

/// Authentication of connections (SASL PLAIN), and the rights that requests need, as checked by Kafka's `KafkaApis`.
///
/// Filtering of listed topics and groups, and errors within a topic, are handled with the request.
extension Node {
  /// The authentication state of a connection.
  enum Session: Equatable {
    /// The client has chosen the mechanism.
    case chosen
    case user(String)
  }

  private static let mechanism = "PLAIN"

  /// The user of a connection; nil before authentication.
  public func user(of connection: ConnectionID) -> String? {
    switch sessions[connection] {
    case .user(let name): name
    case .chosen: nil
    case nil: access.admitsAnonymous ? AccessControl.anonymous : nil
    }
  }

  /// Answers authentication requests, and rejects requests that come before it; nil for all others.
  mutating func authenticate(_ request: Request, _ connection: ConnectionID) -> Outcome? {
    switch (request.api.key, sessions[connection]) {
    case (17, nil) where access.hasPasswords:
      let isKnown = request.body["Mechanism"] == .text(Self.mechanism)
      // After version 0, tokens come without requests around them. librdkafka checks for it and uses version 1.
      let error: ErrorCode =
        request.version == 0 ? .unsupportedVersion : isKnown ? .none : .unsupportedSaslMechanism
      let body: Value = ["Error": .error(error), "Mechanisms": [.text(Self.mechanism)]]
      guard error == .none else { return .farewell(body) }
      sessions[connection] = .chosen
      return .answer(body)
    case (36, .chosen):
      guard let user = access.user(token: request.body["Bytes"].bytes) else {
        return .farewell([
          "Error": .error(.saslAuthenticationFailed),
          "Message": "Authentication failed: Invalid username or password",
        ])
      }
      sessions[connection] = .user(user)
      return .answer([:])
    case (18, _): return nil
    case _ where user(of: connection) == nil: return .close
    case (17, _), (36, _):
      return .answer(Refusal.answer(to: request.body, request.api, .illegalSaslState))
    default: return nil
    }
  }

  func may(
    _ caller: Caller, _ operation: AccessControl.Operation, _ resource: AccessControl.Resource
  ) -> Bool { access.may(caller.user, operation, resource) }

  /// A caller's operations on a resource: a bit for each, by Kafka's numbers.
  func rights(_ caller: Caller, _ resource: AccessControl.Resource) -> Value {
    let operations: [(AccessControl.Operation, Int64)] =
      switch resource {
      case .topic:
        [
          (.read, 3), (.write, 4), (.create, 5), (.delete, 6), (.alter, 7), (.describe, 8),
          (.describeConfigs, 10), (.alterConfigs, 11),
        ]
      case .group:
        [(.read, 3), (.delete, 6), (.describe, 8), (.describeConfigs, 10), (.alterConfigs, 11)]
      // 9 is ClusterAction, between brokers: it needs the right to everything.
      case .cluster:
        [
          (.create, 5), (.alter, 7), (.describe, 8), (.all, 9), (.describeConfigs, 10),
          (.alterConfigs, 11), (.idempotentWrite, 12),
        ]
      }
    var bits: Int64 = 0
    for (operation, number) in operations where may(caller, operation, resource) {
      bits |= Int64(1) << number
    }
    return .int(bits)
  }

  /// The error for a whole request; nil if it is authorized.
  func refusal(of request: Request, _ caller: Caller) -> ErrorCode? {
    let group = AccessControl.Resource.group(request.body["GroupId"].text)
    let isAllowed =
      switch request.api.key {
      case 8, 11, 12, 13, 14: may(caller, .read, group)
      case 47: may(caller, .delete, group)
      case 22: may(caller, .idempotentWrite, .cluster) || access.mayWriteSomewhere(caller.user)
      case 35, 46: may(caller, .describe, .cluster)
      case 43, 45: may(caller, .alter, .cluster)
      default: true
      }
    let isOfCluster = [22, 35, 43, 45, 46].contains(request.api.key)
    return isAllowed ? nil : isOfCluster ? .clusterNotAuthorized : .groupNotAuthorized
  }

  /// The list in a request whose elements are authorized one by one, and the operation that each needs.
  private static let elements: [Int16: (list: String, operation: AccessControl.Operation)] = [
    0: ("Topics", .write), 2: ("Topics", .describe), 8: ("Topics", .read),
    15: ("Groups", .describe), 19: ("Topics", .create), 21: ("Topics", .delete),
    23: ("Topics", .describe), 32: ("Results", .describeConfigs),
    33: ("Results", .alterConfigs), 37: ("Results", .alter), 42: ("Groups", .delete),
    44: ("Results", .alterConfigs), 47: ("Topics", .read),
  ]

  /// Removes from a request what its caller is not authorized for.
  ///
  /// - Returns: The response's list, and its elements with errors; nil if everything is authorized.
  func takeRefused(
    from request: inout Request, _ caller: Caller
  ) -> (list: String, answers: [Value])? {
    guard let (list, operation) = Self.elements[request.api.key],
      request.api.key != 19 || !may(caller, .create, .cluster)
    else { return nil }
    func isAllowed(_ element: Value) -> Bool { may(caller, operation, resource(element)) }
    let asked = request.body[list].list
    guard !asked.allSatisfy(isAllowed) else { return nil }
    let body = request.body
    request.body = body.with(list, .list(asked.filter(isAllowed)))
    let answers = asked.filter { !isAllowed($0) }.flatMap { element in
      Refusal.answer(to: body.with(list, [element]), request.api, resource(element).refusal)[list]
        .list
    }
    return (list, answers)
  }

  /// Groups are identified by name only; configurations other than topics' belong to the cluster.
  private func resource(_ element: Value) -> AccessControl.Resource {
    if let group = element.optionalText { return .group(group) }
    let isTopic = element["Type"].isNull || element["Type"] == 2
    return isTopic ? .topic(element["Name"].text) : .cluster
  }
}
