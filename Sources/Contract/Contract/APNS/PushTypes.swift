// SPDX-License-Identifier: Apache-2.0

/// The push types that a process knows: Apple's built-in ones, and those of its setting `--push-type`, since APNs may
/// have a new type before a release of Martlet does.
public struct PushTypes: Sendable, Equatable {
  /// A type from the setting: its name (`apns-push-type`), and the suffix after the bundle id in its topic.
  public struct Custom: Sendable, Equatable {
    public let name: String
    public let suffix: String
  }

  /// The reason why a text is not `NAME=SUFFIX`, as the end of a sentence.
  public struct Problem: Error, Equatable {
    public let text: String
  }

  /// The most custom types.
  public static let maximumCustom = 64
  /// The most bytes of a name and of a suffix.
  public static let maximumText = 64

  public static let builtIn = PushTypes()
  /// For programs that only look at records and have no setting: any valid name counts as a type.
  public static let any = PushTypes(acceptsAny: true)
  /// A type that `any` accepts.
  private static let unlisted = UInt8.max

  public private(set) var custom: [Custom] = []
  private let acceptsAny: Bool

  private init(acceptsAny: Bool = false) { self.acceptsAny = acceptsAny }

  /// - Parameter texts: each `NAME=SUFFIX`; the suffix may be empty.
  public init(_ texts: [String]) throws(Problem) {
    acceptsAny = false
    for text in texts { try add(text) }
  }

  private mutating func add(_ text: String) throws(Problem) {
    let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    guard parts.count == 2 else {
      throw Problem(text: "must be NAME=SUFFIX, such as weather=.push-type.weather")
    }
    let (name, suffix) = (String(parts[0]), String(parts[1]))
    guard name.utf8.span.isPlainName(most: Self.maximumText) else {
      throw Problem(text: "the name must be 1 to \(Self.maximumText) of a-z, 0-9 and hyphen")
    }
    guard PushType(name) == nil else { throw Problem(text: "\(name) is built in") }
    guard !custom.contains(where: { $0.name == name }) else {
      throw Problem(text: "\(name) is given twice")
    }
    guard Self.isSuffix(suffix) else {
      throw Problem(
        text: "the suffix must be empty, or a dot and then letters, digits, dots and hyphens, at"
          + " most \(Self.maximumText) bytes")
    }
    guard custom.count < Self.maximumCustom else {
      throw Problem(text: "has more than \(Self.maximumCustom) types")
    }
    custom.append(Custom(name: name, suffix: suffix))
  }

  private static func isSuffix(_ suffix: String) -> Bool {
    if suffix.isEmpty { return true }
    return suffix.utf8.count <= maximumText && suffix.first == "."
      && suffix.utf8.allSatisfy { byte in
        (byte | 0x20) &- 0x61 < 26 || byte &- 0x30 < 10 || byte == 0x2D || byte == 0x2E
      }
  }

  /// The type with this name, or `nil`.
  public func find(_ name: Span<UInt8>) -> PushType? {
    if let type = PushType(name) { return type }
    for index in custom.indices where name.spells(custom[index].name) {
      return .custom(UInt8(truncatingIfNeeded: index))
    }
    return acceptsAny && name.isPlainName(most: Self.maximumText) ? .custom(Self.unlisted) : nil
  }

  /// The names of all types, those of the setting last.
  public var names: [String] { PushType.allCases.map(\.description) + custom.map(\.name) }

  /// The value of `apns-push-type`.
  public func name(of type: PushType) -> String {
    guard case .custom(let index) = type, Int(index) < custom.count else { return "\(type)" }
    return custom[Int(index)].name
  }

  /// The suffix after the bundle id in the topic; `nil` if unknown.
  public func suffix(of type: PushType) -> String? {
    guard case .custom(let index) = type else { return type.topicSuffix.description }
    return Int(index) < custom.count ? custom[Int(index)].suffix : nil
  }

  /// The length of that suffix in bytes; 0 if unknown.
  public func suffixLength(of type: PushType) -> Int {
    guard case .custom = type else { return type.topicSuffix.utf8CodeUnitCount }
    return suffix(of: type)?.utf8.count ?? 0
  }
}
