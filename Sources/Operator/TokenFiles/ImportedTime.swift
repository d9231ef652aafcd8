// SPDX-License-Identifier: Apache-2.0

/// Times as databases and exports write them.
public enum ImportedTime {
  /// `2026-11-21 04:00:00`, with `T`, a fraction and a zone (`Z`, `+01`, `+01:00`, `+0100`, ` UTC`) or without, or a
  /// number of seconds or milliseconds since 1970. Without a zone it is UTC.
  ///
  /// - Returns: milliseconds since the epoch, nil for anything else.
  public static func milliseconds(_ text: String) -> Int64? {
    if let number = Int64(text) {
      guard number >= 0, number <= 253_402_300_799_999 else { return nil }
      return number < 100_000_000_000 ? number * 1_000 : number
    }
    var digits = Digits(text)
    guard let year = digits.number(4), digits.skip("-"), let month = digits.number(2),
      digits.skip("-"), let day = digits.number(2), (1...12).contains(month),
      (1...31).contains(day)
    else { return nil }
    let date = days(year, month, day) * 86_400_000
    if digits.isAtEnd { return date }
    guard digits.skip("T") || digits.skip(" "), let hour = digits.number(2), digits.skip(":"),
      let minute = digits.number(2), hour < 24, minute < 60
    else { return nil }
    var second: Int64 = 0
    if digits.skip(":") {
      guard let number = digits.number(2), number < 61 else { return nil }
      second = number
    }
    let fraction = digits.skip(".") ? digits.thousandths() : 0
    guard let zone = digits.zone() else { return nil }
    return date + ((hour * 60 + minute - zone) * 60 + second) * 1_000 + fraction
  }

  /// Days since the epoch, counted in eras of 400 years that begin on 1 March.
  private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    let year = month <= 2 ? year - 1 : year
    let era = year / 400
    let yearOfEra = year - era * 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  private struct Digits {
    private let bytes: [UInt8]
    private var place = 0

    init(_ text: String) { bytes = Array(text.utf8) }

    var isAtEnd: Bool { place == bytes.count }

    mutating func skip(_ character: Unicode.Scalar) -> Bool {
      guard place < bytes.count, bytes[place] == UInt8(ascii: character) else { return false }
      place += 1
      return true
    }

    mutating func number(_ width: Int) -> Int64? {
      guard place + width <= bytes.count else { return nil }
      var number: Int64 = 0
      for byte in bytes[place..<place + width] {
        guard byte &- 0x30 < 10 else { return nil }
        number = number * 10 + Int64(byte &- 0x30)
      }
      place += width
      return number
    }

    /// A fraction of a second in milliseconds; what is finer is cut off.
    mutating func thousandths() -> Int64 {
      var (value, unit): (Int64, Int64) = (0, 100)
      while place < bytes.count, bytes[place] &- 0x30 < 10 {
        value += unit * Int64(bytes[place] &- 0x30)
        unit /= 10
        place += 1
      }
      return value
    }

    /// Minutes ahead of UTC; nil for something else.
    mutating func zone() -> Int64? {
      if isAtEnd { return 0 }
      if skip("Z") { return isAtEnd ? 0 : nil }
      if skip(" ") {
        return skip("U") && skip("T") && skip("C") && isAtEnd ? 0 : nil
      }
      let sign: Int64
      if skip("+") { sign = 1 } else if skip("-") { sign = -1 } else { return nil }
      guard let hours = number(2), hours < 24 else { return nil }
      if isAtEnd { return sign * hours * 60 }
      _ = skip(":")
      guard let minutes = number(2), minutes < 60, isAtEnd else { return nil }
      return sign * (hours * 60 + minutes)
    }
  }
}
