// SPDX-License-Identifier: Apache-2.0

/// A fault that the gateway simulator can inject. Its declaration holds everything specific to it: the name, the
/// stages, the entry in `docs/simulator.md`, and the reader of its fields, which returns the action.
public struct Fault: Sendable, Equatable, CustomStringConvertible {
  /// The name in scripts and reports: `goaway_shutdown`.
  public let name: String
  /// The title, in a few words.
  public let title: String
  /// The stages at which it can happen; the first is the default.
  public let stages: [FaultStage]
  /// The fields and their defaults, as Markdown.
  public let fields: String
  /// An example of a rule's members after `id`.
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

/// The stages at which the gateway asks whether a fault is due. Scripts use the same names.
public enum FaultStage: UInt8, Sendable, CaseIterable {
  /// A TCP connection was accepted; the TLS handshake has not started.
  case connection
  /// The TLS handshake is complete; SETTINGS have not been sent.
  case ready
  /// A request is complete and was judged; nothing has been done about it yet.
  case request
  /// The response was handed to the stream.
  case answer
  /// Nothing was received on the connection for a while.
  case idle
  /// Not a moment but a condition of the whole gateway that holds as long as the rule does.
  case standing

  /// The stage with this name, or nil.
  public init?(_ name: String) {
    guard let found = Self.allCases.first(where: { "\($0)" == name }) else { return nil }
    self = found
  }
}
