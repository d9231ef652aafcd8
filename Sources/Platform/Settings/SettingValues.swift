// SPDX-License-Identifier: Apache-2.0

/// The values of a program's settings, every one within its rules.
///
/// Asking for a name that the table does not have is a programming error and stops the program; `--check-config` in
/// a test finds it.
public struct SettingValues: Sendable {
  public let table: SettingTable
  let values: [SettingValue?]
  let sources: [SettingSource?]
  /// Words after the flags.
  public let operands: [String]
  /// Properties that pass through to librdkafka.
  public let kafka: KafkaProperties
  /// Warnings for the operator, although the program can start: variables that are no setting.
  public let warnings: [SettingError]

  public subscript<Value>(key: SettingKey<Value>) -> Value { key.value(of: value(key.name)) }

  /// True if the setting was given rather than left at its default.
  public func isGiven(_ name: String) -> Bool {
    let source = sources[index(name)]
    return source != nil && source != .defaultValue
  }

  public func source(_ name: String) -> SettingSource? { sources[index(name)] }

  /// An error about this setting that names where its value came from, for checks across settings.
  public func error(_ name: String, _ problem: String) -> SettingErrors {
    SettingErrors(name, problem, source: source(name))
  }

  /// What some work gives. An error of it is one about this setting.
  public func orError<Result>(
    _ name: String, _ work: () throws -> Result
  ) throws(SettingErrors) -> Result {
    do { return try work() } catch { throw self.error(name, "\(error)") }
  }

  /// The value as an operator would write it, of a setting that is known by name only; nil without a value.
  public func written(_ name: String) -> String? { value(name)?.text }

  private func index(_ name: String) -> Int {
    guard let index = table.index(of: name) else {
      preconditionFailure("the table has no setting \(name)")
    }
    return index
  }

  private func value(_ name: String) -> SettingValue? { values[index(name)] }
}

extension SettingValues {
  /// `name = value (source)` for each setting that has a value; secrets are only said to be set.
  public var report: [String] { shown.map { "\($0.name) = \($0.value) (\($0.source))" } }

  /// The settings whose values come from elsewhere than their defaults, by name; secrets are only said to be set.
  public var given: [(name: String, value: String)] {
    shown.filter { $0.source != .defaultValue }.map { ($0.name, $0.value) }
  }

  /// The settings file that has a secret in it; nil without one.
  public var fileWithSecrets: String? {
    let settings = zip(table.settings, sources).lazy.filter(\.0.isSecret).compactMap(\.1)
    let properties = kafka.named.map { $0.property }.filter { KafkaProperties.isSecret($0.name) }
    for source in Array(settings) + properties.map(\.source) {
      if case .file(let path, _) = source { return path }
    }
    return nil
  }

  private var shown: [(name: String, value: String, source: SettingSource)] {
    var lines: [(name: String, value: String, source: SettingSource)] = []
    for (index, setting) in table.settings.enumerated() {
      guard let value = values[index], let source = sources[index] else { continue }
      lines.append((setting.name, setting.isSecret ? "(set)" : value.text, source))
    }
    for (name, property) in kafka.named {
      let value = KafkaProperties.isSecret(property.name) ? "(set)" : property.value
      lines.append((name, value, property.source))
    }
    return lines
  }
}

extension SettingValue {
  /// The value as an operator would write it.
  var text: String {
    switch self {
    case .text(let text): text
    case .integer(let number): "\(number)"
    case .duration(let milliseconds): DurationText.text(milliseconds: milliseconds)
    case .bytes(let count): ByteCountText.text(bytes: count)
    case .boolean(let flag): flag ? "true" : "false"
    case .list(let words): words.joined(separator: ",")
    case .endpoints(let endpoints):
      endpoints.isEmpty ? "off" : endpoints.map(\.description).joined(separator: ",")
    }
  }
}
