// SPDX-License-Identifier: Apache-2.0

/// Every setting of one program, and whether it takes operands and Kafka properties.
public struct SettingTable: Sendable {
  /// Words after the flags, such as the file of `martlet import FILE`.
  public struct Operands: Sendable {
    /// The placeholder for them in `--help`.
    public let placeholder: String
    public let count: ClosedRange<Int>
    public let documentation: String

    public init(_ placeholder: String, _ count: ClosedRange<Int>, _ documentation: String) {
      self.placeholder = placeholder
      self.count = count
      self.documentation = documentation
    }
  }

  public let settings: [Setting]
  public let operands: Operands?
  /// True if `kafka.<property>` passes through to librdkafka.
  public let takesKafkaProperties: Bool
  private let indices: [String: Int]

  /// Names must be kebab-case, unique, and none of `help`, `version`, `check-config`, `check`, `config`;
  /// defaults must pass their own rules. A table that breaks this is a programming error.
  public init(_ settings: [Setting], kafkaProperties: Bool = false, operands: Operands? = nil) {
    self.settings = settings
    self.operands = operands
    takesKafkaProperties = kafkaProperties
    var indices: [String: Int] = [:]
    for (index, setting) in settings.enumerated() {
      let isNew = indices.updateValue(index, forKey: setting.name) == nil
      precondition(isNew, "the setting \(setting.name) stands twice in its table")
      precondition(!Self.builtIn.contains(setting.name), "\(setting.name) has a fixed meaning")
    }
    self.indices = indices
  }

  /// Flags that every program has beside its table.
  public static let builtIn = ["help", "version", "check-config", "check", "config"]

  public subscript(name: String) -> Setting? { indices[name].map { settings[$0] } }

  func index(of name: String) -> Int? { indices[name] }

  func index(environment variable: String) -> Int? {
    settings.firstIndex { $0.environmentName == variable }
  }

  var names: [String] { settings.map(\.name) }
}
