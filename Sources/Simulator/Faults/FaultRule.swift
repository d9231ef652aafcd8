// SPDX-License-Identifier: Apache-2.0

/// One line of a fault script: when something is due, what.
public struct FaultRule: Sendable, Equatable {
  public var fault: Fault
  /// A name for reports; the fault's unless the script gives another.
  public var name: String
  public var stage: FaultStage
  public var matcher: FaultMatcher
  public var action: FaultAction
  /// The profile that it belongs to; nil for one that was added by itself.
  public var profile: String?

  public init(
    _ fault: Fault, name: String? = nil, stage: FaultStage? = nil,
    when matcher: FaultMatcher = FaultMatcher(), _ action: FaultAction
  ) {
    self.fault = fault
    self.name = name ?? fault.name
    self.stage = stage ?? fault.stages[0]
    self.matcher = matcher
    self.action = action
  }
}

/// A fault that is due now.
public struct FaultDecision: Sendable, Equatable {
  /// The rule's place among those of the engine.
  public var rule: Int
  public var fault: Fault
  public var action: FaultAction
  /// The value that chance or order has chosen among the action's choices: milliseconds of a delay, the stream limit,
  /// the code of RST_STREAM. 0 for other actions.
  public var value: UInt64 = 0
}

/// The number of times that a rule was concerned and fired.
public struct FaultCount: Sendable, Equatable {
  public var rule: FaultRule
  /// The seed of its chances.
  public var seed: UInt64
  /// Events that passed the rule's filters.
  public var seen: UInt64
  public var fired: UInt64
}
