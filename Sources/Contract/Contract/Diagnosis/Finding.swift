// SPDX-License-Identifier: Apache-2.0

/// One thing that was looked at before a program runs, and how it is: what `--check` and `martlet doctor` print.
///
/// No field holds a secret: keys, tokens and passwords are named by their file or setting.
public struct Finding: Sendable, Equatable {
  /// From good to bad.
  public enum Status: String, Sendable, CaseIterable, Comparable {
    case ok
    /// Worth a look; the program works.
    case warning
    /// The program cannot work, or not as it should.
    case error

    public static func < (one: Status, other: Status) -> Bool { one.rank < other.rank }

    private var rank: Int { Status.allCases.firstIndex(of: self) ?? 0 }
  }

  public enum Subject: String, Sendable, CaseIterable {
    case settings, credential, certificate, root, clock, zones, kafka, topic, group, partitions,
      proxy, gateway
  }

  public let status: Status
  public let subject: Subject
  /// Which one: a file, a setting, a topic, an address.
  public let place: String
  public let message: String
  /// The remedy; empty if nothing is to be done.
  public let remedy: String

  public init(
    _ status: Status, _ subject: Subject, _ place: String, _ message: String, remedy: String = ""
  ) {
    self.status = status
    self.subject = subject
    self.place = place
    self.message = message
    self.remedy = remedy
  }

  public static func ok(_ subject: Subject, _ place: String, _ message: String) -> Finding {
    Finding(.ok, subject, place, message)
  }

  public static func warning(
    _ subject: Subject, _ place: String, _ message: String, remedy: String
  ) -> Finding {
    Finding(.warning, subject, place, message, remedy: remedy)
  }

  public static func error(
    _ subject: Subject, _ place: String, _ message: String, remedy: String
  ) -> Finding {
    Finding(.error, subject, place, message, remedy: remedy)
  }

  /// The finding on one line, except for the remedy, which has a line of its own.
  public var text: String {
    let first = "\(status.rawValue.padded(9))\(subject.rawValue.padded(13))\(place): \(message)"
    return remedy.isEmpty ? first : first + "\n" + String(repeating: " ", count: 22) + "→ " + remedy
  }
}

extension String {
  /// With blanks behind it, so many columns wide at least.
  fileprivate func padded(_ width: Int) -> String {
    self + String(repeating: " ", count: max(1, width - count))
  }
}
