// SPDX-License-Identifier: Apache-2.0

/// A page of metrics that was read: Prometheus' text format, version 0.0.4.
public struct MetricPage: Sendable, Equatable {
  public struct Series: Sendable, Equatable {
    public let name: String
    public let labels: [String: String]
    public let value: Double
  }

  public let series: [Series]
  private let places: [String: [Int]]

  /// - Throws: the first line that is none of the format.
  public init(_ text: String) throws(MetricPageError) {
    var all: [Series] = []
    for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated()
    where !line.isEmpty && line.first != "#" {
      guard let series = Self.series(line) else { throw MetricPageError(line: index + 1) }
      all.append(series)
    }
    series = all
    places = Dictionary(grouping: all.indices, by: { all[$0].name })
  }

  /// The series of a metric that have these labels; other labels are not looked at.
  public func values(_ name: String, _ labels: [String: String] = [:]) -> [Series] {
    (places[name] ?? []).map { series[$0] }.filter { found in
      labels.allSatisfy { found.labels[$0.key] == $0.value }
    }
  }

  /// Their sum; 0 for none.
  public func sum(_ name: String, _ labels: [String: String] = [:]) -> Double {
    values(name, labels).reduce(0) { $0 + $1.value }
  }

  /// `name{label="value",…} 1.5`, and perhaps a time, which is not looked at.
  private static func series(_ line: Substring) -> Series? {
    var rest = line
    let name = rest.prefix { isNameCharacter($0) || $0 == ":" }
    guard !name.isEmpty, name.first?.isNumber == false else { return nil }
    rest.removeFirst(name.count)
    var labels: [String: String] = [:]
    if rest.first == "{" {
      rest.removeFirst()
      guard let read = readLabels(&rest) else { return nil }
      labels = read
    }
    let words = rest.split(whereSeparator: { $0 == " " || $0 == "\t" })
    guard (1...2).contains(words.count), let value = number(words[0]) else { return nil }
    return Series(name: String(name), labels: labels, value: value)
  }

  private static func readLabels(_ rest: inout Substring) -> [String: String]? {
    var labels: [String: String] = [:]
    while true {
      rest = rest.drop { $0 == " " || $0 == "," }
      if rest.first == "}" {
        rest.removeFirst()
        return labels
      }
      let name = rest.prefix(while: isNameCharacter)
      rest.removeFirst(name.count)
      guard !name.isEmpty, rest.hasPrefix("=\"") else { return nil }
      rest.removeFirst(2)
      guard let value = readValue(&rest) else { return nil }
      labels[String(name)] = value
    }
  }

  /// A label's value, up to and with its closing quote.
  private static func readValue(_ rest: inout Substring) -> String? {
    var value = String.UnicodeScalarView()
    var scalars = rest.unicodeScalars
    while let scalar = scalars.popFirst() {
      switch scalar {
      case "\"":
        rest = Substring(scalars)
        return String(value)
      case "\\":
        guard let escaped = scalars.popFirst() else { return nil }
        value.append(escaped == "n" ? "\n" : escaped)
      default: value.append(scalar)
      }
    }
    return nil
  }

  private static func number(_ word: Substring) -> Double? {
    switch word {
    case "+Inf": .infinity
    case "-Inf": -.infinity
    case "NaN": .nan
    default: Double(word)
    }
  }

  private static func isNameCharacter(_ character: Character) -> Bool {
    character == "_" || character.isASCII && (character.isLetter || character.isNumber)
  }
}

/// A page is not in Prometheus' text format.
public struct MetricPageError: Error, Equatable, CustomStringConvertible {
  /// Counted from 1.
  public let line: Int

  public var description: String { "line \(line) is not Prometheus' text format" }
}
