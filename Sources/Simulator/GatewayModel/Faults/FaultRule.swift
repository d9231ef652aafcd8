// SPDX-License-Identifier: Apache-2.0

/// One rule of a fault script: the conditions and the action.
public struct FaultRule: Sendable, Equatable {
  public var fault: Fault
  /// The name in reports; the fault's name unless the script sets another.
  public var name: String
  public var stage: FaultStage
  public var matcher: FaultMatcher
  public var action: FaultAction
  /// The profile that the rule belongs to; nil if it was added on its own.
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
  /// The index of the rule in the engine.
  public var rule: Int
  public var fault: Fault
  public var action: FaultAction
  /// The value selected among the action's choices, at random or in order: the delay in milliseconds, the stream limit
  /// or the RST_STREAM code. 0 for other actions.
  public var value: UInt64 = 0
}

/// How often a rule matched and fired.
public struct FaultCount: Sendable, Equatable {
  public var rule: FaultRule
  /// The seed of the rule's random numbers.
  public var seed: UInt64
  /// The number of events that passed the rule's filters.
  public var seen: UInt64
  public var fired: UInt64
}
