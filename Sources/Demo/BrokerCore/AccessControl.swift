// SPDX-License-Identifier: Apache-2.0
import Contract

/// Users, their passwords and their rights: Kafka's access control lists with allow entries only.
///
/// By default there are no passwords: each client is `ANONYMOUS` and may do everything.
public struct AccessControl: Sendable {
  /// Kafka's name for the user of an unauthenticated connection.
  public static let anonymous = "ANONYMOUS"

  /// Kafka's operations, named as in its access control entries.
  public enum Operation: String, Sendable, CaseIterable {
    case all = "All"
    case read = "Read"
    case write = "Write"
    case create = "Create"
    case delete = "Delete"
    case alter = "Alter"
    case describe = "Describe"
    case describeConfigs = "DescribeConfigs"
    case alterConfigs = "AlterConfigs"
    case idempotentWrite = "IdempotentWrite"

    /// Whether one right implies the other, as in Kafka's `StandardAuthorizer`.
    func includes(_ other: Operation) -> Bool {
      if self == other || self == .all { return true }
      return switch other {
      case .describe: [.read, .write, .delete, .alter].contains(self)
      case .describeConfigs: self == .alterConfigs
      default: false
      }
    }
  }

  /// The resource of an operation.
  public enum Resource: Hashable, Sendable {
    case topic(String)
    case group(String)
    case cluster

    /// The error for a missing right.
    var refusal: ErrorCode {
      switch self {
      case .topic: .topicNotAuthorized
      case .group: .groupNotAuthorized
      case .cluster: .clusterNotAuthorized
      }
    }
  }

  /// An access control entry: one operation on one resource.
  public struct Right: Hashable, Sendable {
    public var operation: Operation
    public var resource: Resource
    /// Whether it applies to all resources with this name prefix.
    public var isPrefix: Bool

    public init(_ operation: Operation, _ resource: Resource, isPrefix: Bool = false) {
      self.operation = operation
      self.resource = resource
      self.isPrefix = isPrefix
    }

    func covers(_ asked: Resource) -> Bool {
      switch (resource, asked) {
      case (.topic(let own), .topic(let name)), (.group(let own), .group(let name)):
        isPrefix ? name.utf8.starts(with: own.utf8) : haveSameBytes(name, own)
      case (.cluster, .cluster): true
      default: false
      }
    }
  }

  private struct User: Sendable {
    /// The password; nil if the user has none.
    var password: [UInt8]?
    var rights: Set<Right> = []
  }

  private var users: [ExactText: User] = [
    anonymous.exact: User(
      rights: [
        Right(.all, .topic(""), isPrefix: true), Right(.all, .group(""), isPrefix: true),
        Right(.all, .cluster),
      ])
  ]

  public init() {}

  /// Whether clients may work without authentication.
  public var admitsAnonymous: Bool {
    get { users[Self.anonymous.exact].map { $0.password == nil } ?? false }
    set {
      users[Self.anonymous.exact] = newValue ? AccessControl().users[Self.anonymous.exact] : nil
    }
  }

  /// Whether clients can authenticate.
  var hasPasswords: Bool { users.values.contains { $0.password != nil } }

  /// Adds a user without rights. Returns false if the name exists.
  @discardableResult
  public mutating func addUser(_ name: String, password: String) -> Bool {
    guard users[name.exact] == nil else { return false }
    users[name.exact] = User(password: Array(password.utf8))
    return true
  }

  public mutating func grant(_ right: Right, to user: String) {
    users[user.exact]?.rights.insert(right)
  }

  public mutating func revoke(_ right: Right, from user: String) {
    users[user.exact]?.rights.remove(right)
  }

  public mutating func revokeAll(from user: String) { users[user.exact]?.rights = [] }

  /// Whether the user has a right to the operation; an unknown user has none.
  public func may(_ user: String, _ operation: Operation, _ resource: Resource) -> Bool {
    users[user.exact]?.rights.contains { $0.operation.includes(operation) && $0.covers(resource) }
      ?? false
  }

  /// Whether the user may write to any topic, and therefore get an idempotent producer's id.
  func mayWriteSomewhere(_ user: String) -> Bool {
    users[user.exact]?.rights.contains { right in
      if case .topic = right.resource { right.operation.includes(.write) } else { false }
    } ?? false
  }

  /// The user named by a SASL PLAIN token (RFC 4616); nil if there is none with that password.
  func user(token: ArraySlice<UInt8>) -> String? {
    let parts = token.split(separator: 0, omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].isEmpty || parts[0] == parts[1] else { return nil }
    let name = String(decoding: parts[1], as: UTF8.self)
    let password = users[name.exact]?.password ?? []
    // Response times must not reveal whether the user exists.
    let isRight = Self.isSame(parts[2], password.isEmpty ? [0] : password)
    return isRight && !password.isEmpty ? name : nil
  }

  /// Compares all bytes, in constant time.
  private static func isSame(_ given: ArraySlice<UInt8>, _ password: [UInt8]) -> Bool {
    var difference = given.count ^ password.count
    for (place, byte) in given.enumerated() {
      difference |= Int(byte ^ password[place % password.count])
    }
    return difference == 0
  }
}
