// SPDX-License-Identifier: Apache-2.0

/// A setting together with the type of its value.
///
/// One declaration holds name, range, default, help and parser; `SettingValues` returns the typed value for it.
public struct SettingKey<Value: Sendable>: Sendable {
  public let setting: Setting
  /// The typed value; nil stands for a setting without one.
  private let convert: @Sendable (SettingValue?) -> Value

  private init(_ setting: Setting, _ convert: @escaping @Sendable (SettingValue?) -> Value) {
    self.setting = setting
    self.convert = convert
  }

  public var name: String { setting.name }

  /// The value that stands for a parsed one, or for none.
  func value(of parsed: SettingValue?) -> Value { convert(parsed) }

  /// The default; a required setting has an empty one, which no reading ever returns.
  var standard: Value {
    // A default that breaks its own rules is found by the test of the table.
    let parsed = setting.defaultText.flatMap { try? setting.kind.value(of: $0) }
    return convert(parsed)
  }
}

extension SettingKey where Value == Int {
  public static func integer(
    _ name: String, default number: Int, in range: ClosedRange<Int> = 0...Int.max,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .integer(range), default: "\(number)", documentation)) {
      $0?.number ?? 0
    }
  }

  public static func bytes(
    _ name: String, default text: String, in range: ClosedRange<Int> = 0...Int.max,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .bytes(range), default: text, documentation)) { $0?.number ?? 0 }
  }
}

extension SettingKey where Value == Int? {
  public static func integer(
    _ name: String, in range: ClosedRange<Int> = 0...Int.max, placeholder: String? = nil,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .integer(range), placeholder: placeholder, documentation)) { $0?.number }
  }
}

extension SettingKey where Value == Int64 {
  /// Milliseconds; so is the range.
  public static func duration(
    _ name: String, default text: String, in range: ClosedRange<Int64> = 0...Int64.max,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .duration(range), default: text, documentation)) {
      $0?.milliseconds ?? 0
    }
  }

  /// The default is in milliseconds, too.
  public static func duration(
    _ name: String, default milliseconds: some BinaryInteger, in range: ClosedRange<Int64>,
    _ documentation: String
  ) -> SettingKey {
    duration(
      name, default: DurationText.text(milliseconds: Int64(milliseconds)), in: range, documentation)
  }
}

extension SettingKey where Value == Bool {
  public static func boolean(
    _ name: String, default value: Bool = false, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .boolean, default: "\(value)", documentation)) { $0 == .boolean(true) }
  }
}

extension SettingKey where Value == String {
  /// With a default, or required.
  public static func text(
    _ name: String, default text: String? = nil, placeholder: String? = nil, _ documentation: String
  ) -> SettingKey {
    SettingKey(
      .init(
        name, .text, default: text, required: text == nil, placeholder: placeholder, documentation)
    ) { $0?.word ?? "" }
  }

  public static func choice(
    _ name: String, of words: [String], default word: String, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .choice(words), default: word, documentation)) { $0?.word ?? "" }
  }

  public static func kafkaName(
    _ name: String, default text: String, longest: Int, placeholder: String? = nil,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(
      .init(
        name, .kafkaName(longest: longest), default: text, placeholder: placeholder, documentation)
    ) { $0?.word ?? "" }
  }

  /// Required: a path has no default.
  public static func path(
    _ name: String, use: Setting.PathUse = .input, placeholder: String? = nil,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(
      .init(name, .path(use), required: true, placeholder: placeholder, documentation)
    ) { $0?.word ?? "" }
  }
}

extension SettingKey where Value == String? {
  public static func text(
    _ name: String, secret: Bool = false, placeholder: String? = nil, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .text, secret: secret, placeholder: placeholder, documentation)) {
      $0?.word
    }
  }

  public static func choice(
    _ name: String, of words: [String], _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .choice(words), documentation)) { $0?.word }
  }

  public static func kafkaName(_ name: String, _ documentation: String) -> SettingKey {
    SettingKey(.init(name, .kafkaName(longest: 249), documentation)) { $0?.word }
  }

  public static func path(
    _ name: String, use: Setting.PathUse = .input, placeholder: String? = nil,
    _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .path(use), placeholder: placeholder, documentation)) { $0?.word }
  }
}

extension SettingKey where Value == [String] {
  public static func list(
    _ name: String, default text: String? = nil, placeholder: String? = nil, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .list, default: text, placeholder: placeholder, documentation)) {
      $0?.words ?? []
    }
  }
}

extension SettingKey where Value == Endpoint {
  public static func endpoint(
    _ name: String, default text: String, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .endpoint, default: text, documentation)) {
      $0?.addresses.first ?? Endpoint(host: "", port: 0)
    }
  }
}

extension SettingKey where Value == Endpoint? {
  public static func endpoint(_ name: String, _ documentation: String) -> SettingKey {
    SettingKey(.init(name, .endpoint, documentation)) { $0?.addresses.first }
  }

  /// nil for `off`.
  public static func endpointOrOff(
    _ name: String, default text: String, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .endpointOrOff, default: text, documentation)) {
      $0?.addresses.first
    }
  }
}

extension SettingKey where Value == [Endpoint] {
  public static func endpoints(
    _ name: String, default text: String? = nil, _ documentation: String
  ) -> SettingKey {
    SettingKey(.init(name, .endpoints, default: text, documentation)) { $0?.addresses ?? [] }
  }
}

extension SettingValue {
  fileprivate var number: Int {
    switch self {
    case .integer(let number), .bytes(let number): number
    default: preconditionFailure("a setting's value is not a number")
    }
  }

  fileprivate var milliseconds: Int64 {
    guard case .duration(let time) = self else {
      preconditionFailure("a setting's value is not a time")
    }
    return time
  }

  fileprivate var word: String {
    guard case .text(let text) = self else {
      preconditionFailure("a setting's value is not a text")
    }
    return text
  }

  fileprivate var words: [String] {
    guard case .list(let words) = self else {
      preconditionFailure("a setting's value is not a list")
    }
    return words
  }

  fileprivate var addresses: [Endpoint] {
    guard case .endpoints(let endpoints) = self else {
      preconditionFailure("a setting's value is not an address")
    }
    return endpoints
  }
}
