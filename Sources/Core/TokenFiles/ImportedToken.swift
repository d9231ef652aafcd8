// SPDX-License-Identifier: Apache-2.0
package import APNS
package import Pipeline

/// What a file of another system, or an export, says of one device token. Times are milliseconds since the epoch.
package struct ImportedToken: Equatable, Sendable {
  /// As the file has it.
  package var token: String
  /// nil: the file does not say.
  package var app: String?
  package var environment: Environment?
  /// The newest sign of life; nil with no `removedAt`: the file has no time.
  package var registeredAt: Int64?
  package var removedAt: Int64?
  /// That APNs has called the token dead, if so.
  package var death: Death?
  package var details = DeviceDetails.none

  /// An answer of APNs that a token is dead.
  package struct Death: Equatable, Sendable {
    package var since: Int64
    /// The earliest registration that revives it; nil: any after `since`.
    package var aliveFrom: Int64?
    package var reason: String
    /// When APNs said so; nil: the file does not say.
    package var recordedAt: Int64?

    package init(since: Int64, aliveFrom: Int64?, reason: String, recordedAt: Int64?) {
      self.since = since
      self.aliveFrom = aliveFrom
      self.reason = reason
      self.recordedAt = recordedAt
    }
  }

  package init(token: String) { self.token = token }
}

/// What a piece of a file came to.
package enum ImportedItem: Equatable, Sendable {
  case token(ImportedToken)
  /// A whole JSON object, of a file whose objects are to be read one by one.
  case object([UInt8])
  /// Something that is not for APNs, or says nothing of a token: why.
  case skipped(String)
  /// The field at fault, nil if it is the whole, and the problem.
  case problem(field: String?, String)
}

/// Something of a file with the line that it begins in, from 1.
package struct ImportedLine: Equatable, Sendable {
  package let line: Int
  package let item: ImportedItem

  package init(line: Int, item: ImportedItem) {
    self.line = line
    self.item = item
  }
}
