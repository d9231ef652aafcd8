// SPDX-License-Identifier: Apache-2.0
import Settings
import Telemetry

@testable import ServiceKit

extension ServiceContext {
  /// The context of a service that has no settings and logs errors only.
  static func test(_ name: String = "test") throws -> ServiceContext {
    let table = SettingTable([])
    let values = try table.read(CommandLineFlags([], for: table))
    return ServiceContext(name: name, log: Logger(service: name, level: .error), values: values)
  }
}
