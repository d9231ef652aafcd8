// SPDX-License-Identifier: Apache-2.0
package import APNS

/// Which device of which app in which environment.
package struct DeviceIdentity: Hashable, Sendable {
  /// Lower-case hexadecimal digits.
  package let token: String
  package let app: String
  package let environment: Environment

  package init(token: String, app: String, environment: Environment) {
    self.token = token
    self.app = app
    self.environment = environment
  }
}

/// What the database knows of a device. Times are milliseconds since the epoch; nil: never.
package struct StoredDevice: Equatable, Sendable {
  package var registeredAt: Int64?
  package var removedAt: Int64?
  /// Dead since, by APNs' clock; nil: not known to be dead.
  package var invalidSince: Int64?
  package var invalidReason: String
  /// When that was recorded first.
  package var recordedAt: Int64?
  /// The registration that made a dead token live again.
  package var revivedAt: Int64?
  package var suspectedAt: Int64?
  /// How many answers cast a suspicion since the newest registration.
  package var suspicions: Int64
}
