// SPDX-License-Identifier: Apache-2.0

/// The rights on Kafka that a running program was refused: the answers of the cluster's authorizer in, reports out.
public struct MissingRights: Sendable {
  /// A change to say: a right that is missing, or one that is granted again.
  public struct Report: Sendable, Equatable {
    /// Operation and resource, as in "Read on topic push.controls".
    public let right: String
    /// Kafka's name of its answer; nil when the right is granted.
    public let error: String?
    public let remedy: String
  }

  private struct Refusal {
    let operation: KafkaRight.Operation
    let resource: KafkaRight.Resource
    var reportedAt: UInt64
  }

  /// Between two reports of a right that stays away, in milliseconds.
  public static let interval: UInt64 = 60_000

  public let rights: KafkaRights
  private let principal: String
  /// In the order in which they were missed.
  private var refusals: [Refusal] = []

  /// - Parameter user: the principal's name as far as it is known; nil takes the program's.
  public init(_ rights: KafkaRights, user: String?) {
    self.rights = rights
    principal = "User:\(user ?? rights.program.rawValue)"
  }

  /// The authorizer refused an operation; `describe` of a topic: the user may not see it, so every right to it is
  /// missing.
  ///
  /// - Parameter error: Kafka's name of its answer.
  public mutating func refused(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource, error: String, now: UInt64
  ) -> Report? {
    if let index = index(operation, resource) {
      guard now >= refusals[index].reportedAt + Self.interval else { return nil }
      refusals[index].reportedAt = now
    } else {
      refusals.append(Refusal(operation: operation, resource: resource, reportedAt: now))
    }
    return report(operation, resource, error: error)
  }

  /// The authorizer allowed an operation.
  public mutating func allowed(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource
  ) -> Report? {
    guard let index = index(operation, resource) else { return nil }
    refusals.remove(at: index)
    return report(operation, resource, error: nil)
  }

  /// It is no longer known whether an operation is allowed.
  public mutating func forget(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) {
    if let index = index(operation, resource) { refusals.remove(at: index) }
  }

  /// Why the program cannot do its job; nil when no right is known to be missing.
  public var obstacle: String? {
    guard let first = refusals.first else { return nil }
    let more = refusals.count > 1 ? " and \(refusals.count - 1) more" : ""
    return "needs \(words(first.operation, first.resource))\(more)"
  }

  private func index(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) -> Int? {
    refusals.firstIndex { $0.operation == operation && $0.resource == resource }
  }

  private func report(
    _ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource, error: String?
  ) -> Report {
    Report(
      right: words(operation, resource), error: error,
      remedy: rights.command(for: named(resource), user: principal))
  }

  private func words(_ operation: KafkaRight.Operation, _ resource: KafkaRight.Resource) -> String {
    let needed = rights.operations(on: named(resource)).filter { $0 != .describeConfigs }
    let operations = operation == .describe && !needed.isEmpty ? needed : [operation]
    return operations.map(\.rawValue).joined(separator: " and ") + " on " + resource.words
  }

  /// The resource as the table names it: of a program with several groups, how their names begin.
  private func named(_ resource: KafkaRight.Resource) -> KafkaRight.Resource {
    guard case .group(let name) = resource, rights.program.hasGroups else { return resource }
    return rights.all.map(\.resource).first {
      if case .group(let prefix) = $0 { name.hasPrefix(prefix) } else { false }
    } ?? resource
  }
}

extension KafkaRight.Resource {
  /// As in "topic push.controls".
  public var words: String {
    switch self {
    case .topic(let name): "topic \(name)"
    case .group(let name): "group \(name)"
    }
  }
}
