// SPDX-License-Identifier: Apache-2.0

/// The delay that a `retry-after` field asks for (RFC 9110 §10.2.3): so many seconds, or a time.
public struct RetryAfter: Equatable, Sendable {
  /// The longest wait that is told, in seconds. More digits than a number has are a long time, not none.
  public static let longest: UInt32 = 999_999_999

  /// 0 without any.
  private var seconds: UInt32 = 0
  /// Seconds since the epoch; 0 without any.
  private var time: Int64 = 0

  /// The field is not there.
  public init() {}

  /// Reads the field's value; one that is neither a number nor a date counts as no field.
  public init(_ value: Span<UInt8>) {
    guard value.count > 0 else { return }
    var number: UInt64 = 0
    for index in value.indices {
      let digit = value[index] &- 0x30
      guard digit < 10 else {
        time = Self.time(value)
        return
      }
      number = min(UInt64(Self.longest), number * 10 + UInt64(digit))
    }
    seconds = UInt32(number)
  }

  private static func time(_ value: Span<UInt8>) -> Int64 {
    guard value.count < HTTPDate.longest else { return 0 }
    var bytes: [UInt8] = []
    for index in value.indices { bytes.append(value[index]) }
    return max(0, HTTPDate.seconds(String(decoding: bytes, as: UTF8.self)) ?? 0)
  }

  /// It asks for something.
  public var isGiven: Bool { seconds != 0 || time != 0 }

  /// The seconds to wait from now on, 0 if there are none.
  ///
  /// - Parameter now: seconds since the epoch.
  public func wait(now: Int64) -> UInt32 {
    guard time > now else { return seconds }
    let (wait, overflows) = time.subtractingReportingOverflow(now)
    return overflows ? Self.longest : UInt32(min(Int64(Self.longest), wait))
  }
}
