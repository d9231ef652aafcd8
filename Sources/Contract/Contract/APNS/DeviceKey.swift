// SPDX-License-Identifier: Apache-2.0

/// The token, app and environment of a device: the key of records on `push.feedback`, `push.devices` and
/// `push.invalid-tokens`, `<token>:<app>:<environment>`.
///
/// A single text, to be hashed, compared, copied and written at once.
public struct DeviceKey: Hashable, Sendable, CustomStringConvertible {
  /// The key as text.
  public let description: String
  /// The length of the token that begins the text, in bytes.
  public let tokenBytes: Int
  public let environment: Environment

  /// - Parameter token: lower-case hexadecimal digits.
  public init(token: String, app: String, environment: Environment) {
    description = "\(token):\(app):\(environment)"
    tokenBytes = token.utf8.count
    self.environment = environment
  }

  /// Takes a text that the caller has composed.
  ///
  /// - Parameters:
  ///   - text: `<token>:<app>:<environment>`.
  ///   - tokenBytes: the number of bytes before its first colon.
  public init(text: String, tokenBytes: Int, environment: Environment) {
    description = text
    self.tokenBytes = tokenBytes
    self.environment = environment
  }

  /// Reads the text of a key; nil if it is malformed. Only the app may contain colons.
  public init?(_ text: String) {
    let bytes = text.utf8.span
    let colon = UInt8(ascii: ":")
    var (first, last) = (0, bytes.count - 1)
    while first < bytes.count, bytes[first] != colon { first += 1 }
    while last > first, bytes[last] != colon { last -= 1 }
    guard first > 0, last > first + 1,
      let environment = Environment(bytes.extracting(last + 1..<bytes.count))
    else { return nil }
    self.init(text: text, tokenBytes: first, environment: environment)
  }

  /// Reads a Kafka key; nil if it is malformed.
  @inlinable
  public init?(key: some Collection<UInt8>) {
    guard let text = String(validating: key, as: UTF8.self) else { return nil }
    self.init(text)
  }

  /// The device token in lower-case hexadecimal digits.
  public var token: String { part(0..<tokenBytes) }

  public var app: String { part(appBytes) }

  /// The range of the app in the text.
  public var appBytes: Range<Int> {
    tokenBytes + 1..<description.utf8.count - 1 - environment.name.utf8CodeUnitCount
  }

  private func part(_ range: Range<Int>) -> String {
    let bytes = description.utf8
    let start = bytes.index(bytes.startIndex, offsetBy: range.lowerBound)
    return String(description[start..<bytes.index(start, offsetBy: range.count)])
  }

  /// The Kafka key.
  public var bytes: [UInt8] { Array(description.utf8) }

  /// True if both have the same app and environment.
  public func isOfSameApp(as other: DeviceKey) -> Bool {
    let (one, two) = (description.utf8.span, other.description.utf8.span)
    let count = one.count - tokenBytes
    guard count == two.count - other.tokenBytes else { return false }
    for index in 0..<count where one[tokenBytes + index] != two[other.tokenBytes + index] {
      return false
    }
    return true
  }

  public static func == (one: DeviceKey, other: DeviceKey) -> Bool {
    haveSameBytes(one.description, other.description)
  }

  /// Hashes the last 16 bytes of the token, which few devices have in common.
  public func hash(into hasher: inout Hasher) {
    let bytes = description.utf8.span
    hasher.combine(Self.word(bytes, endingAt: tokenBytes))
    hasher.combine(Self.word(bytes, endingAt: tokenBytes - 8))
  }

  /// Up to eight bytes before an index, the last one in the lowest byte.
  private static func word(_ bytes: Span<UInt8>, endingAt end: Int) -> UInt64 {
    var word: UInt64 = 0
    for index in max(0, end - 8)..<max(0, end) { word = word << 8 | UInt64(bytes[index]) }
    return word
  }
}
