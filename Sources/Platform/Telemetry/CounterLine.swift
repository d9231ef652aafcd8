// SPDX-License-Identifier: Apache-2.0

public enum CounterKind: Sendable, Equatable {
  /// Only grows; the line shows its rate too.
  case total
  /// A level that rises and falls.
  case gauge
  /// A level of which a process tells the highest among its loops instead of their sum.
  case peak
}

/// The fields of the line that each process prints every few seconds:
/// `taken=20000(+1973/s) in_flight=512`.
public enum CounterLine {
  /// One number: its name, and its value now and when the last line was printed.
  public struct Entry: Sendable, Equatable {
    public let name: String
    public let kind: CounterKind
    public let value: Int
    public let previous: Int

    public init(name: String, kind: CounterKind, value: Int, previous: Int) {
      self.name = name
      self.kind = kind
      self.value = value
      self.previous = previous
    }
  }

  /// - Parameter milliseconds: Time since the last line, for rates.
  public static func fields(_ entries: [Entry], milliseconds: Int64) -> [LogEvent.Field] {
    entries.map { entry in
      let growth = entry.value - entry.previous
      guard entry.kind == .total, growth > 0, milliseconds > 0 else {
        return (entry.name, .number(entry.value))
      }
      return (entry.name, .total(entry.value, perSecond: rate(growth, milliseconds)))
    }
  }

  /// Per second; below ten with one decimal.
  private static func rate(_ growth: Int, _ milliseconds: Int64) -> String {
    let tenths = Int64(growth) * 10_000 / milliseconds
    return tenths >= 100 ? "\(tenths / 10)" : "\(tenths / 10).\(tenths % 10)"
  }
}

/// `deadLettered` as counters and metrics spell it: `dead_lettered`.
public enum SnakeCase {
  public static func text(_ camelCase: String) -> String {
    var text = ""
    for character in camelCase {
      if character.isUppercase, !text.isEmpty { text += "_" }
      text += character.lowercased()
    }
    return text
  }
}
