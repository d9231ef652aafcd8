// SPDX-License-Identifier: Apache-2.0

/// A property that declares its setting: name, type, default, range and help stand at the property, and nowhere else.
///
/// ```swift
/// struct ExampleSettings: DeclaredSettings {
///   @Declared(.integer("loops", default: 1, in: 1...64, "Sending threads.")) var loops: Int
///   static let table = SettingTable(declaredBy: Self.self)
///   init() {}
/// }
/// let settings = ExampleSettings.reading(values)
/// ```
///
/// The initial value of such a property depends on why the struct is made: `SettingTable(declaredBy:)` collects the
/// declarations, `reading(_:)` takes the values, and a plain `init()` has all defaults.
@propertyWrapper
public struct Declared<Value: Sendable>: Sendable {
  public var wrappedValue: Value

  public init(_ key: SettingKey<Value>) {
    switch SettingPass.current {
    case .values(let values): wrappedValue = values[key]
    case .declarations(let recorder):
      recorder.add(key.setting)
      wrappedValue = key.standard
    case nil: wrappedValue = key.standard
    }
  }
}

/// A program's settings, declared by the properties of a struct.
public protocol DeclaredSettings {
  /// All defaults; what is required is empty.
  init()

  /// Makes of the values what no property declares, and checks them against each other.
  mutating func finish(_ values: SettingValues) throws(SettingErrors)
}

extension DeclaredSettings {
  public mutating func finish(_ values: SettingValues) throws(SettingErrors) {}

  /// Every property with its value.
  public static func reading(_ values: SettingValues) -> Self {
    SettingPass.$current.withValue(.values(values)) { Self() }
  }
}

extension SettingTable {
  /// The settings that a type's properties declare, in their order, and then those of `more`.
  public init<Settings: DeclaredSettings>(
    declaredBy type: Settings.Type, more: [Setting] = [], kafkaProperties: Bool = false,
    operands: Operands? = nil
  ) {
    let recorder = SettingRecorder()
    SettingPass.$current.withValue(.declarations(recorder)) { _ = Settings() }
    self.init(recorder.settings + more, kafkaProperties: kafkaProperties, operands: operands)
  }
}

/// Why a struct of settings is being made.
private enum SettingPass: Sendable {
  case values(SettingValues)
  case declarations(SettingRecorder)

  @TaskLocal static var current: SettingPass?
}

/// Collects declarations in the order of the properties. One thread has it, for the time of one initializer.
private final class SettingRecorder: @unchecked Sendable {
  private(set) var settings: [Setting] = []

  func add(_ setting: Setting) { settings.append(setting) }
}
