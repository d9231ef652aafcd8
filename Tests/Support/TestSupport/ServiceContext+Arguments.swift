// SPDX-License-Identifier: Apache-2.0
public import ServiceKit
public import Settings
import Telemetry

extension SettingTable {
  /// What these arguments of a command line say, without environment and file.
  public func values(_ arguments: [String] = []) throws(SettingErrors) -> SettingValues {
    try read(CommandLineFlags(arguments, for: self))
  }
}

extension Service {
  /// What these arguments say; it knows the settings that the harness adds, too.
  public static func values(_ arguments: [String] = []) throws(SettingErrors) -> SettingValues {
    try CommonSettings.table(of: self).values(arguments)
  }

  /// A context as the harness makes it of these arguments.
  public static func context(_ arguments: [String] = []) throws(SettingErrors) -> ServiceContext {
    ServiceContext(try values(arguments), name: name)
  }
}

extension ServiceContext {
  /// A context whose log has errors only.
  public init(_ values: SettingValues, name: String = "test") {
    self.init(name: name, log: Logger(service: name, level: .error), values: values)
  }

  /// The context of a service that has no settings and logs errors only.
  public static func test(_ name: String = "test") throws(SettingErrors) -> ServiceContext {
    ServiceContext(try SettingTable([]).values(), name: name)
  }
}
