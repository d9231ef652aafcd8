// SPDX-License-Identifier: Apache-2.0
import BrokerCore
public import Contract
public import EmbeddedKafka

/// A user of an embedded broker with only the rights that a test grants. The test's own clients stay anonymous and may
/// do everything. Safe to use from any thread.
public struct RestrictedUser: Sendable {
  private static let password = "correct horse"
  public let name: String
  private let broker: EmbeddedBroker

  /// - Parameter name: A different name for each user of a broker.
  public init(_ broker: EmbeddedBroker, name: String = "restricted", rights: [KafkaRight]) {
    self.broker = broker
    self.name = name
    broker.changeAccess { $0.addUser(name, password: Self.password) }
    for right in rights {
      for operation in right.operations { grant(operation, right.resource) }
    }
  }

  /// The properties of a client that authenticates as the user.
  public var properties: [(name: String, value: String)] {
    [
      ("security.protocol", "sasl_plaintext"), ("sasl.mechanisms", "PLAIN"),
      ("sasl.username", name), ("sasl.password", Self.password),
    ]
  }

  /// The same properties as flags of a program.
  public var flags: [String] { properties.map { "--kafka.\($0.name)=\($0.value)" } }

  public func grant(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    let (right, name) = (Self.right(operation, resource), name)
    broker.changeAccess { $0.grant(right, to: name) }
  }

  public func revoke(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    let (right, name) = (Self.right(operation, resource), name)
    broker.changeAccess { $0.revoke(right, from: name) }
  }

  private static func right(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource
  ) -> AccessControl.Right {
    let same = AccessControl.Operation(rawValue: operation.rawValue)!
    return switch resource {
    case .topic(let name): .init(same, .topic(name))
    case .group(let name): .init(same, .group(name))
    }
  }
}
