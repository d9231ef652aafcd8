// SPDX-License-Identifier: Apache-2.0
public import APNS

/// Which device of which app in which environment.
public struct DeviceIdentity: Hashable, Sendable {
  /// Lower-case hexadecimal digits.
  public let token: String
  public let app: String
  public let environment: Environment

  public init(token: String, app: String, environment: Environment) {
    self.token = token
    self.app = app
    self.environment = environment
  }

  /// Few devices have a token in common.
  public func hash(into hasher: inout Hasher) { hasher.combine(token) }
}
