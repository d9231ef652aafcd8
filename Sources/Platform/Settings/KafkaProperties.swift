// SPDX-License-Identifier: Apache-2.0

/// librdkafka properties that pass through untouched: `kafka.<property>` for every client,
/// `kafka.consumer.<property>` and `kafka.producer.<property>` for one side only.
public struct KafkaProperties: Sendable, Equatable {
  /// One property as librdkafka knows it.
  public struct Property: Sendable, Equatable {
    public let name: String
    public let value: String
    public let source: SettingSource
  }

  public internal(set) var common: [Property] = []
  public internal(set) var consumer: [Property] = []
  public internal(set) var producer: [Property] = []

  public static let prefix = "kafka."

  /// `MARTLET_KAFKA_LINGER_MS` is `kafka.linger.ms`; two underscores in a row stand for one in
  /// librdkafka's name (`MARTLET_KAFKA_SSL__KEY` is `kafka.ssl_key`).
  public static func name(environment variable: String) -> String? {
    let prefix = Setting.environmentPrefix + "KAFKA_"
    guard variable.hasPrefix(prefix), variable.utf8.count > prefix.utf8.count else { return nil }
    let parts = variable.dropFirst(prefix.count).lowercased().split(
      separator: "__", omittingEmptySubsequences: false)
    let words = parts.map { String($0.map { $0 == "_" ? "." : $0 }) }
    return Self.prefix + words.joined(separator: "_")
  }

  /// librdkafka's own name in a passed-through one: `kafka.consumer.check.crcs` is `check.crcs`.
  static func property(of name: String) -> String {
    var rest = name.dropFirst(prefix.count)
    for layer in ["consumer.", "producer."] where rest.hasPrefix(layer) {
      rest = rest.dropFirst(layer.count)
    }
    return String(rest)
  }

  /// True if a property's value must never be printed.
  public static func isSecret(_ name: String) -> Bool {
    ["password", "passphrase", "secret", "pem", "ssl_key", "ssl.key", "token", "sasl.jaas"]
      .contains { name.contains($0) }
  }

  /// Adds a passed-through setting such as `kafka.consumer.fetch.wait.max.ms`; a later value of
  /// the same name replaces the earlier one.
  mutating func set(_ name: String, _ value: String, _ source: SettingSource) {
    let rest = name.dropFirst(Self.prefix.count)
    if rest.hasPrefix("consumer.") {
      Self.put(&consumer, rest.dropFirst("consumer.".count), value, source)
    } else if rest.hasPrefix("producer.") {
      Self.put(&producer, rest.dropFirst("producer.".count), value, source)
    } else {
      Self.put(&common, rest, value, source)
    }
  }

  private static func put(
    _ list: inout [Property], _ name: Substring, _ value: String, _ source: SettingSource
  ) {
    // At the end: librdkafka has two names for some properties, and the one that is set last counts.
    list.removeAll { $0.name == name }
    list.append(Property(name: String(name), value: value, source: source))
  }

  /// Every property with its passed-through name, such as `kafka.consumer.check.crcs`.
  public var named: [(name: String, property: Property)] {
    let layers = [("", common), ("consumer.", consumer), ("producer.", producer)]
    return layers.flatMap { layer, properties in
      properties.map { (name: "\(Self.prefix)\(layer)\($0.name)", property: $0) }
    }
  }

  /// The same properties as flags, for a process that starts others.
  public var flags: [String] { named.map { "--\($0.name)=\($0.property.value)" } }
}
