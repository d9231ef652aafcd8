// SPDX-License-Identifier: Apache-2.0

public enum SettingSource: Sendable, Equatable, CustomStringConvertible {
  case flag
  case environment(String)
  /// A properties file's path and line number, from 1.
  case file(path: String, line: Int)
  case defaultValue

  public var description: String {
    switch self {
    case .flag: "flag"
    case .environment(let name): "environment \(name)"
    case .file(let path, let line): "\(path):\(line)"
    case .defaultValue: "default"
    }
  }
}

/// One thing that is wrong with the configuration: which setting, from where, and what.
public struct SettingError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The setting's name, or nil when the problem is about no single setting.
  public let setting: String?
  /// nil when the setting was given nowhere.
  public let source: SettingSource?
  /// The problem, and a value that would be right.
  public let problem: String

  public init(setting: String?, source: SettingSource?, problem: String) {
    self.setting = setting
    self.source = source
    self.problem = problem
  }

  public var description: String {
    switch (setting, source) {
    case (let setting?, let source?): "\(setting) (\(source)): \(problem)"
    case (let setting?, nil): "\(setting): \(problem)"
    case (nil, let source?): "\(source): \(problem)"
    case (nil, nil): problem
    }
  }
}

/// Everything that is wrong with the configuration, so that it can be put right in one go.
public struct SettingErrors: Error, Sendable, Equatable, CustomStringConvertible {
  public var errors: [SettingError]

  public init(_ errors: [SettingError]) { self.errors = errors }

  /// One problem about one setting (or about none).
  public init(_ setting: String?, _ problem: String, source: SettingSource? = nil) {
    errors = [SettingError(setting: setting, source: source, problem: problem)]
  }

  public var description: String {
    errors.map(\.description).joined(separator: "\n")
  }
}
