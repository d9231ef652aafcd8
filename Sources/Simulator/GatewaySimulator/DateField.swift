// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Telemetry

/// The value of a `date` header (RFC 9110 §5.6.7), updated once a second: `Sun, 06 Nov 1994 08:49:37 GMT`.
struct DateField: ~Copyable {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  private let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: 29, alignment: 1)
  private var second = Int64.min

  deinit { bytes.deallocate() }

  /// Returns a pointer that is valid while this value lives; its contents change every second.
  ///
  /// - Parameter now: Milliseconds since the epoch, 0 or more.
  mutating func value(now: Int64) -> UnsafeRawBufferPointer {
    if second != now / 1_000 {
      second = now / 1_000
      bytes.copyBytes(from: Self.text(second: second).utf8)
    }
    return UnsafeRawBufferPointer(bytes)
  }

  /// - Parameter second: Seconds since the epoch; years up to 9999.
  static func text(second: Int64) -> String {
    // 2026-11-21T01:09:44.000Z
    let parts = Timestamp.text(milliseconds: second * 1_000).split { "-T.".contains($0) }
    let day = days[Int(second / 86_400 % 7)]
    let month = months[(Int(parts[1]) ?? 1) - 1]
    return "\(day), \(parts[2]) \(month) \(parts[0]) \(parts[3]) GMT"
  }
}
