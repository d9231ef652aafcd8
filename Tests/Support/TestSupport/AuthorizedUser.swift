// SPDX-License-Identifier: Apache-2.0
public import Diagnosis

/// The rights that an authorizer grants one user: nothing but the access control entries that it was given.
public struct AuthorizedUser: Sendable {
  private var granted: [KafkaRight.Resource: Set<KafkaRight.Operation>] = [:]

  public init(_ rights: [KafkaRight]) {
    for right in rights { granted[right.resource] = Set(right.operations) }
  }

  public mutating func grant(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource
  ) {
    granted[resource, default: []].insert(operation)
  }

  public mutating func revoke(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource
  ) {
    granted[resource]?.remove(operation)
  }

  /// True if the user may perform the operation; `Read` and `Write` include `Describe`. A group's entry counts for all
  /// whose name begins so.
  func may(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) -> Bool {
    let operations = entry(resource)
    return operations.contains(operation)
      || (operation == .describe && !operations.isDisjoint(with: [.read, .write]))
  }

  private func entry(_ resource: KafkaRight.Resource) -> Set<KafkaRight.Operation> {
    if let exact = granted[resource] { return exact }
    guard case .group(let name) = resource else { return [] }
    return granted.first { entry in
      if case .group(let prefix) = entry.key { name.hasPrefix(prefix) } else { false }
    }?.value ?? []
  }

  /// True if the user may write to any topic: what an idempotent producer needs for its id.
  var mayWrite: Bool {
    granted.contains { entry in
      if case .topic = entry.key { entry.value.contains(.write) } else { false }
    }
  }
}
