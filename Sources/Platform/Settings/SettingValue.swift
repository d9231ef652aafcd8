// SPDX-License-Identifier: Apache-2.0

/// A value that passed its setting's rules.
public enum SettingValue: Sendable, Equatable {
  case text(String)
  case integer(Int)
  /// Milliseconds.
  case duration(Int64)
  case bytes(Int)
  case boolean(Bool)
  case list([String])
  case endpoints([Endpoint])
}

/// Why a text is not a value of its setting: the end of a sentence such as
/// "must be a whole number from 1 to 64".
public struct ValueProblem: Error, Equatable {
  public let text: String
}

extension Setting.Kind {
  public func value(of text: String) throws(ValueProblem) -> SettingValue {
    guard !text.isEmpty else { throw ValueProblem(text: "must not be empty") }
    switch self {
    case .text, .path:
      guard !text.utf8.contains(0) else { throw ValueProblem(text: "must not contain a NUL") }
      return .text(text)
    case .kafkaName(let longest): return .text(try Self.kafkaName(text, longest: longest))
    case .integer(let range): return .integer(try Self.integer(text, in: range))
    case .duration(let range):
      return .duration(
        try Self.bounded(
          DurationText.milliseconds(of: text), in: range, "time such as 200ms, 5s, 15m or 1h",
          DurationText.text(milliseconds:)))
    case .bytes(let range):
      return .bytes(
        try Self.bounded(
          ByteCountText.bytes(of: text), in: range, "size such as 4096, 64KiB, 64MiB or 1GiB",
          ByteCountText.text(bytes:)))
    case .boolean: return .boolean(try Self.boolean(text))
    case .choice(let words):
      guard words.contains(text) else {
        throw ValueProblem(text: "must be one of \(words.joined(separator: ", "))")
      }
      return .text(text)
    case .list: return .list(try Self.words(text))
    case .endpoint: return .endpoints([try Endpoint(parsing: text)])
    case .endpointOrOff: return .endpoints(text == "off" ? [] : [try Endpoint(parsing: text)])
    case .endpoints:
      var endpoints: [Endpoint] = []
      for word in try Self.words(text) { endpoints.append(try Endpoint(parsing: word)) }
      return .endpoints(endpoints)
    }
  }

  /// A name that Kafka itself takes for topics (`Topic.validate`) and for `group.instance.id`.
  private static func kafkaName(_ text: String, longest: Int) throws(ValueProblem) -> String {
    let isName = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."), UInt8(ascii: "_"),
        UInt8(ascii: "-"):
        true
      default: false
      }
    }
    guard isName, text.utf8.count <= longest else {
      throw ValueProblem(
        text: "must be at most \(longest) letters, digits, dots, dashes and underscores")
    }
    return text
  }

  private static func integer(
    _ text: String, in range: ClosedRange<Int>
  ) throws(ValueProblem) -> Int {
    guard let number = Int(text), range.contains(number) else {
      let end = range.upperBound == .max ? "on" : "to \(range.upperBound)"
      throw ValueProblem(text: "must be a whole number from \(range.lowerBound) \(end)")
    }
    return number
  }

  private static func bounded<Number: Comparable>(
    _ number: Number?, in range: ClosedRange<Number>, _ form: String, _ text: (Number) -> String
  ) throws(ValueProblem) -> Number {
    guard let number else { throw ValueProblem(text: "must be a \(form)") }
    guard range.contains(number) else {
      throw ValueProblem(
        text: "must be from \(text(range.lowerBound)) to \(text(range.upperBound))")
    }
    return number
  }

  private static func boolean(_ text: String) throws(ValueProblem) -> Bool {
    switch text {
    case "true", "yes", "on", "1": return true
    case "false", "no", "off", "0": return false
    default: throw ValueProblem(text: "must be true or false")
    }
  }

  private static func words(_ text: String) throws(ValueProblem) -> [String] {
    let words = text.split(separator: ",", omittingEmptySubsequences: false).map { $0.trimmed }
    guard !words.contains("") else {
      throw ValueProblem(text: "must be words separated by single commas")
    }
    return words
  }
}

extension StringProtocol {
  /// The text without blanks and tabs at either end.
  var trimmed: String {
    var rest = self[...]
    while let first = rest.first, first.isWhitespace { rest = rest.dropFirst() }
    while let last = rest.last, last.isWhitespace { rest = rest.dropLast() }
    return String(rest)
  }
}
