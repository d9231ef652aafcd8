// SPDX-License-Identifier: Apache-2.0

/// Findings about the clock of this machine. APNs refuses provider tokens that are older than an hour or from the
/// future, so a signer's clock must be right.
public enum ClockFindings {
  /// A difference that is worth an error, in seconds.
  public static let tolerance: Int64 = 60
  private static let remedy = "synchronize the clock: chronyc tracking, timedatectl"

  /// - Parameter isSynchronized: whether the kernel says that something keeps the clock right; nil if it does not say.
  public static func local(isSynchronized: Bool?) -> Finding {
    switch isSynchronized {
    case true?: .ok(.clock, "this machine", "is synchronized")
    case false?:
      .warning(.clock, "this machine", "nothing synchronizes the clock", remedy: remedy)
    case nil: .ok(.clock, "this machine", "the kernel does not say whether it is synchronized")
    }
  }

  /// - Parameters:
  ///   - gateway: who sent the date.
  ///   - ahead: seconds that this machine is ahead of it; nil if it sent none, which says nothing.
  public static func compared(to gateway: String, secondsAhead ahead: Int64?) -> [Finding] {
    guard let ahead else { return [] }
    guard ahead.magnitude > tolerance.magnitude else {
      return [.ok(.clock, gateway, "agrees with this machine within a minute")]
    }
    return [
      .error(
        .clock, gateway,
        "this machine is \(ahead.magnitude) s \(ahead > 0 ? "ahead of" : "behind") the gateway's date",
        remedy: remedy)
    ]
  }
}
