// SPDX-License-Identifier: Apache-2.0

/// Records as somebody hostile writes them: the right fields, with numbers at the ends of their ranges and beyond. An
/// input chooses among them; when it is used up, it says zero for ever.
struct HostileRecord {
  /// 2026-11-21.
  static let now: Int64 = 1_795_224_000_000
  static let token = String(repeating: "ab", count: 32)
  /// What may stand where a time is expected.
  private static let numbers: [String] =
    ([
      0, now, -1, 1, .min, .max, .min + 1, .max - 1, now - 86_400_000, now + 86_400_000,
      now / 1_000,
      now * 1_000, now * 1_000_000, 253_402_300_799_999, 253_402_300_800_000, 99_999_999_999_999,
      9_999_999_999_999_999, 1 << 31, 1 << 32, 1 << 53, 1 << 62, -now, .max / 1_000,
      .max / 1_000 + 1, 4_102_444_800_000, now + 300_000, now + 300_001, now - 3_600_000,
    ] as [Int64]).map { "\($0)" } + [
      "1e400", "-0", "0.5", "1e3", "9223372036854775808", "18446744073709551615", "null", "true",
      "\"12\"", "[]",
    ]

  private var bytes: ArraySlice<UInt8>

  init(_ input: UnsafeRawBufferPointer) { bytes = Array(input)[...] }

  var isAtEnd: Bool { bytes.isEmpty }

  mutating func byte() -> UInt8 { bytes.popFirst() ?? 0 }

  mutating func pick<Value>(_ values: [Value]) -> Value { values[Int(byte()) % values.count] }

  /// A number, or something else in its place.
  mutating func number() -> String { pick(Self.numbers) }

  /// A number, as Kafka has it.
  mutating func integer() -> Int64 { Int64(number()) ?? 0 }

  /// A member, or now and then none.
  mutating func member(_ name: String) -> String {
    let number = number()
    return byte() % 8 == 7 ? "" : ",\"\(name)\":\(number)"
  }
}
