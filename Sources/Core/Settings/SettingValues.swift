// SPDX-License-Identifier: Apache-2.0

/// The values of a program's settings, every one within its rules.
///
/// Asking for a name that the table does not have, or for another kind than the table says, is a
/// programming error and stops the program; `--check-config` in a test finds it.
package struct SettingValues: Sendable {
  package let table: SettingTable
  let values: [SettingValue?]
  let sources: [SettingSource?]
  /// Words after the flags.
  package let operands: [String]
  /// Properties that pass through to librdkafka.
  package let kafka: KafkaProperties
  /// What the operator should hear although the program can start: variables that are no setting.
  package let warnings: [SettingError]

  /// The value of a setting of the table, with its type.
  package subscript<Value>(key: SettingKey<Value>) -> Value { key.value(of: value(key.name)) }

  /// Whether the setting was given rather than left at its default.
  package func isGiven(_ name: String) -> Bool {
    let source = sources[index(name)]
    return source != nil && source != .defaultValue
  }

  /// Where the value came from; nil when there is none.
  package func source(_ name: String) -> SettingSource? { sources[index(name)] }

  /// An error about this setting that names where its value came from, for checks across settings.
  package func error(_ name: String, _ problem: String) -> SettingErrors {
    SettingErrors(name, problem, source: source(name))
  }

  package func optionalText(_ name: String) -> String? {
    guard let value = value(name) else { return nil }
    guard case .text(let text) = value else { wrongKind(name, "a text") }
    return text
  }

  package func optionalInteger(_ name: String) -> Int? {
    guard let value = value(name) else { return nil }
    guard case .integer(let number) = value else { wrongKind(name, "an integer") }
    return number
  }

  /// Milliseconds.
  package func optionalMilliseconds(_ name: String) -> Int64? {
    guard let value = value(name) else { return nil }
    guard case .duration(let milliseconds) = value else { wrongKind(name, "a duration") }
    return milliseconds
  }

  package func optionalBytes(_ name: String) -> Int? {
    guard let value = value(name) else { return nil }
    guard case .bytes(let count) = value else { wrongKind(name, "a size") }
    return count
  }

  package func optionalEndpoint(_ name: String) -> Endpoint? {
    let all = endpoints(name)
    precondition(all.count <= 1, "the setting \(name) holds several endpoints")
    return all.first
  }

  package func text(_ name: String) -> String { optionalText(name) ?? missing(name) }
  package func integer(_ name: String) -> Int { optionalInteger(name) ?? missing(name) }
  package func milliseconds(_ name: String) -> Int64 {
    optionalMilliseconds(name) ?? missing(name)
  }
  package func bytes(_ name: String) -> Int { optionalBytes(name) ?? missing(name) }
  package func endpoint(_ name: String) -> Endpoint { optionalEndpoint(name) ?? missing(name) }

  package func boolean(_ name: String) -> Bool {
    guard let value = value(name) else { return missing(name) }
    guard case .boolean(let flag) = value else { wrongKind(name, "a boolean") }
    return flag
  }

  /// Empty when none was given.
  package func list(_ name: String) -> [String] {
    guard let value = value(name) else { return [] }
    guard case .list(let words) = value else { wrongKind(name, "a list") }
    return words
  }

  /// Empty when none was given.
  package func endpoints(_ name: String) -> [Endpoint] {
    guard let value = value(name) else { return [] }
    guard case .endpoints(let endpoints) = value else { wrongKind(name, "endpoints") }
    return endpoints
  }

  private func index(_ name: String) -> Int {
    guard let index = table.index(of: name) else {
      preconditionFailure("the table has no setting \(name)")
    }
    return index
  }

  private func value(_ name: String) -> SettingValue? { values[index(name)] }

  private func missing<Value>(_ name: String) -> Value {
    preconditionFailure(
      "the setting \(name) has no value: make it required, or read it as optional")
  }

  private func wrongKind(_ name: String, _ kind: String) -> Never {
    preconditionFailure("the setting \(name) is not \(kind)")
  }
}

extension SettingValues {
  /// `name = value (source)` for each setting that has a value; secrets are only said to be set.
  package var report: [String] {
    var lines: [String] = []
    for (index, setting) in table.settings.enumerated() {
      guard let value = values[index], let source = sources[index] else { continue }
      lines.append("\(setting.name) = \(setting.isSecret ? "(set)" : value.text) (\(source))")
    }
    let layers = [("", kafka.common), ("consumer.", kafka.consumer), ("producer.", kafka.producer)]
    for (layer, properties) in layers {
      for property in properties {
        let value = KafkaProperties.isSecret(property.name) ? "(set)" : property.value
        lines.append("kafka.\(layer)\(property.name) = \(value) (\(property.source))")
      }
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
    case .endpoints(let endpoints): endpoints.map(\.description).joined(separator: ",")
    }
  }
}
