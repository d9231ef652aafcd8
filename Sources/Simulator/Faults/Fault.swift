// SPDX-License-Identifier: Apache-2.0

/// A fault that the gateway simulator can inject. Its declaration has all that is particular to it: its name, its
/// moments, its line of `docs/simulator.md`, and the reader of its fields, which says what it does.
public struct Fault: Sendable, Equatable, CustomStringConvertible {
  /// The name in scripts and reports: `goaway_shutdown`.
  public let name: String
  /// The title, in a few words.
  public let title: String
  /// The moments at which it can happen; the first is taken unless a rule says otherwise.
  public let stages: [FaultStage]
  /// The fields and their defaults, in Markdown.
  public let fields: String
  /// The members of a rule as an example, after its `id`.
  public let example: String
  /// Reads the fields of a rule.
  let read: @Sendable (inout FaultFields) throws(FaultScriptError) -> FaultAction

  init(
    _ name: String, _ title: String, at stages: [FaultStage], _ fields: String = "",
    example: String,
    read: @escaping @Sendable (inout FaultFields) throws(FaultScriptError) -> FaultAction
  ) {
    self.name = name
    self.title = title
    self.stages = stages
    self.fields = fields
    self.example = example
    self.read = read
  }

  /// All faults, in the order of their numbers.
  public static let all: [Fault] = [
    anyAnswer, goneTimestamp, unexpectedAnswer, reasonSpelling, streamLimitLow,
    streamLimitChanges, streamReset, goAwayCredential, goAwayShutdown, goAwayForm, connectionLost,
    blackHole, flowControl, addedLatency, unusualFrames, earlyAnswer, tlsFailure, deadAddress,
    connectRefused, wrongClock, providerTokenRefused, tooManyRequests, serviceUnavailable,
    errorDisconnect, lostAnswer, headerLimits, idleConnection, streamIDsExhausted,
  ]

  /// The number in the specification, `F01` to `F28`; scripts may use it in place of the name.
  public var number: String {
    let number = (Self.all.firstIndex(of: self) ?? -1) + 1
    return number < 10 ? "F0\(number)" : "F\(number)"
  }

  public var description: String { name }

  /// The fault with this name or number, or nil.
  public init?(_ text: String) {
    guard let found = Self.all.first(where: { $0.name == text || $0.number == text }) else {
      return nil
    }
    self = found
  }

  public static func == (left: Fault, right: Fault) -> Bool { left.name == right.name }
}

/// The moments at which the gateway asks whether a fault is due. Scripts spell them as they are here.
public enum FaultStage: UInt8, Sendable, CaseIterable {
  /// A TCP connection has been accepted; TLS has not begun.
  case connection
  /// TLS is up; SETTINGS have not been sent.
  case ready
  /// A request is complete and its verdict is known, but nothing has been done about it.
  case request
  /// The answer has been handed to the stream.
  case answer
  /// Nothing has come in on the connection for a while.
  case idle
  /// Not a moment: a condition of the whole gateway that holds as long as the rule does.
  case standing

  /// The stage with this name, or nil.
  public init?(_ name: String) {
    guard let found = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
    self = found
  }
}
