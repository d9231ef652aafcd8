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

  /// Few devices have a token in common.
  package func hash(into hasher: inout Hasher) { hasher.combine(token) }
}
