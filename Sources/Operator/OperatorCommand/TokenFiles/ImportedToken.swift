// SPDX-License-Identifier: Apache-2.0
public import Contract

/// A device token in a file of another system, or in an export. Times are in milliseconds since the epoch.
public struct ImportedToken: Equatable, Sendable {
  public var token: String
  /// The app; nil if absent in the file.
  public var app: String?
  public var environment: Environment?
  /// The newest sign of life. If this and `removedAt` are nil, the file has no time.
  public var registeredAt: Int64?
  public var removedAt: Int64?
  /// APNs' response that the token is invalid, if any.
  public var invalidation: Invalidation?
  public var details = DeviceDetails.none

  public struct Invalidation: Equatable, Sendable {
    public var since: Int64
    /// The earliest registration that makes the token valid again; nil for any after `since`.
    public var aliveFrom: Int64?
    public var reason: String
    /// The time of APNs' response; nil if absent in the file.
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

public enum ImportedItem: Equatable, Sendable {
  case token(ImportedToken)
  /// A JSON object to be read.
  case object([UInt8])
  /// An error in a field, or in the whole item if the field is nil.
  case problem(field: String?, String)
}

/// An item of a file with its line number, from 1.
public struct ImportedLine: Equatable, Sendable {
  public let line: Int
  public let item: ImportedItem
}
