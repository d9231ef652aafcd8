// SPDX-License-Identifier: Apache-2.0

extension SettingTable {
  /// Puts the sources together: flags win over the environment, the environment over the file,
  /// the file over defaults.
  ///
  /// - Parameters:
  ///   - environment: The process's variables. One that begins with `MARTLET_` and is no setting is
  ///     passed over with a warning: programs share an environment, and Kubernetes adds variables of its own
  ///     (`MARTLET_SENDER_PORT`) for a service of that name. `MARTLET_CONFIG` and the test suite's own
  ///     `MARTLET_TEST_…` are ignored: they configure tests.
  ///   - isKafkaProperty: whether librdkafka has a property of this name; asked about variables only.
  ///   - isOfOthers: whether another command of the program knows this variable, so that there is no warning.
  /// - Throws: everything that is wrong, in all sources.
  public func read(
    _ flags: CommandLineFlags, environment: [String: String] = [:], file: PropertiesFile? = nil,
    isKafkaProperty: (String) -> Bool = { _ in true },
    isOfOthers: (String) -> Bool = { _ in false }
  ) throws(SettingErrors) -> SettingValues {
    var reading = SettingReading(table: self)
    for entry in file?.entries ?? [] {
      let source = SettingSource.file(path: file?.path ?? "", line: entry.line)
      reading.take(entry.name, entry.value, source, spelling: "")
    }
    for (variable, value) in environment.sorted(by: { $0.key < $1.key }) {
      reading.take(variable: variable, value, isKafkaProperty, isOfOthers)
    }
    for (name, value) in flags.given { reading.take(name, value, .flag, spelling: "--") }
    return try reading.finish(operands: flags.operands)
  }

  /// Whether the variable is a setting, or a Kafka property.
  public func knows(variable: String, isKafkaProperty: (String) -> Bool) -> Bool {
    place(of: variable, isKafkaProperty) != nil
  }

  fileprivate func place(of variable: String, _ isKafkaProperty: (String) -> Bool) -> Place? {
    if let index = index(environment: variable) { return .setting(index) }
    guard takesKafkaProperties, let name = KafkaProperties.name(environment: variable),
      isKafkaProperty(KafkaProperties.property(of: name))
    else { return nil }
    return .kafkaProperty(name)
  }
}

/// What a variable sets.
private enum Place {
  case setting(Int)
  case kafkaProperty(String)
}

/// The state of one read: the values so far, and what was wrong.
private struct SettingReading {
  let table: SettingTable
  var texts: [(text: String, source: SettingSource)?]
  var kafka = KafkaProperties()
  var errors: [SettingError] = []
  var warnings: [SettingError] = []

  init(table: SettingTable) {
    self.table = table
    texts = table.settings.map { setting in setting.defaultText.map { ($0, .defaultValue) } }
  }

  mutating func take(_ name: String, _ value: String, _ source: SettingSource, spelling: String) {
    if let index = table.index(of: name) {
      texts[index] = (value, source)
    } else if table.takesKafkaProperties, name.hasPrefix(KafkaProperties.prefix) {
      kafka.set(name, value, source)
    } else {
      let near = Suggestion.phrase(for: name, among: table.names, prefix: spelling)
      refuse(name, source, "there is no such setting\(near)")
    }
  }

  mutating func take(
    variable: String, _ value: String, _ isKafkaProperty: (String) -> Bool,
    _ isOfOthers: (String) -> Bool
  ) {
    guard variable.hasPrefix(Setting.environmentPrefix), variable != "MARTLET_CONFIG",
      !variable.hasPrefix("MARTLET_TEST_")
    else { return }
    switch table.place(of: variable, isKafkaProperty) {
    case .setting(let index): texts[index] = (value, .environment(variable))
    case .kafkaProperty(let name): kafka.set(name, value, .environment(variable))
    case nil where isOfOthers(variable): break
    case nil:
      let names = table.settings.map(\.environmentName)
      let near = Suggestion.phrase(for: variable, among: names)
      warnings.append(
        SettingError(
          setting: nil, source: .environment(variable),
          problem: "this program has no such setting\(near); the variable is ignored"))
    }
  }

  mutating func refuse(_ name: String?, _ source: SettingSource?, _ problem: String) {
    errors.append(SettingError(setting: name, source: source, problem: problem))
  }

  mutating func finish(operands: [String]) throws(SettingErrors) -> SettingValues {
    var values: [SettingValue?] = []
    for (setting, given) in zip(table.settings, texts) {
      guard let (text, source) = given else {
        if setting.isRequired { refuse(setting.name, nil, "is required; \(Self.ways(setting))") }
        values.append(nil)
        continue
      }
      do throws(ValueProblem) {
        values.append(try setting.kind.value(of: text))
      } catch {
        let shown = setting.isSecret || text.isEmpty ? "" : ", not \"\(text)\""
        refuse(setting.name, source, error.text + shown)
        values.append(nil)
      }
    }
    judge(operands)
    guard errors.isEmpty else { throw SettingErrors(errors) }
    return SettingValues(
      table: table, values: values, sources: texts.map { $0?.source }, operands: operands,
      kafka: kafka, warnings: warnings)
  }

  private mutating func judge(_ operands: [String]) {
    guard let rule = table.operands else {
      if let first = operands.first {
        refuse(nil, nil, "takes no operand such as \"\(first)\"; flags begin with --")
      }
      return
    }
    guard !rule.count.contains(operands.count) else { return }
    let wanted = operands.count < rule.count.lowerBound ? "is missing" : "occurs too often"
    refuse(nil, nil, "\(rule.placeholder) \(wanted): \(rule.documentation)")
  }

  private static func ways(_ setting: Setting) -> String {
    "give --\(setting.name) \(setting.placeholder) or \(setting.environmentName)"
  }
}
