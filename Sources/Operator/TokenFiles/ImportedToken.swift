// SPDX-License-Identifier: Apache-2.0
public import APNS
public import Contract

/// The facts about one device token in a file of another system, or in an export. Times are milliseconds since the
/// epoch.
public struct ImportedToken: Equatable, Sendable {
  /// As the file has it.
  public var token: String
  /// nil: the file does not say.
  public var app: String?
  public var environment: Environment?
  /// The newest sign of life; nil with no `removedAt`: the file has no time.
  public var registeredAt: Int64?
  public var removedAt: Int64?
  /// That APNs has called the token invalid, if so.
  public var invalidation: Invalidation?
  public var details = DeviceDetails.none

  /// An answer of APNs that a token is invalid.
  public struct Invalidation: Equatable, Sendable {
    public var since: Int64
    /// The earliest registration that revives it; nil: any after `since`.
    public var aliveFrom: Int64?
    public var reason: String
    /// When APNs said so; nil: the file does not say.
    public var recordedAt: Int64?

    public init(since: Int64, aliveFrom: Int64?, reason: String, recordedAt: Int64?) {
      self.since = since
      self.aliveFrom = aliveFrom
      self.reason = reason
      self.recordedAt = recordedAt
    }
  }

  public init(token: String) { self.token = token }
}

/// The result of a line of a file.
public enum ImportedItem: Equatable, Sendable {
  case token(ImportedToken)
  /// A JSON object that is to be read.
  case object([UInt8])
  /// The field at fault, nil if it is the whole, and the problem.
  case problem(field: String?, String)
}

/// Something of a file with its line, from 1.
public struct ImportedLine: Equatable, Sendable {
  public let line: Int
  public let item: ImportedItem

  public init(line: Int, item: ImportedItem) {
    self.line = line
    self.item = item
  }
}
