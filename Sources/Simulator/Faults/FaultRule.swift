// SPDX-License-Identifier: Apache-2.0

/// One line of a fault script: when something is due, what.
public struct FaultRule: Sendable, Equatable {
  public var id: FaultID
  /// A name for reports; the id unless the script gives another.
  public var name: String
  public var stage: FaultStage
  public var matcher: FaultMatcher
  public var action: FaultAction

  public init(
    _ id: FaultID, name: String? = nil, stage: FaultStage? = nil,
    when matcher: FaultMatcher = FaultMatcher(), _ action: FaultAction
  ) {
    self.id = id
    self.name = name ?? id.name
    self.stage = stage ?? id.stages[0]
    self.matcher = matcher
    self.action = action
  }
}

/// A fault that is due now.
public struct FaultDecision: Sendable, Equatable {
  /// The rule's place among those of the engine.
  public var rule: Int
  public var id: FaultID
  public var action: FaultAction
  /// The value that chance or order has chosen among the action's choices: milliseconds of a delay, the stream limit,
  /// the code of RST_STREAM. 0 for other actions.
  public var value: UInt64

  public init(rule: Int, id: FaultID, action: FaultAction, value: UInt64 = 0) {
    self.rule = rule
    self.id = id
    self.action = action
    self.value = value
  }
}

/// The number of times that a rule was concerned and fired.
public struct FaultCount: Sendable, Equatable {
  public var rule: FaultRule
  /// The seed of its chances.
  public var seed: UInt64
  /// Events that passed the rule's filters.
  public var seen: UInt64
  public var fired: UInt64

  public init(rule: FaultRule, seed: UInt64, seen: UInt64, fired: UInt64) {
    self.rule = rule
    self.seed = seed
    self.seen = seen
    self.fired = fired
  }
}
