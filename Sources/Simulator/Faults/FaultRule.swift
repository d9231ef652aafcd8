// SPDX-License-Identifier: Apache-2.0

/// One line of a fault script: when something is due, what.
package struct FaultRule: Sendable, Equatable {
  package var id: FaultID
  /// A name for reports; the id unless the script gives another.
  package var name: String
  package var stage: FaultStage
  package var matcher: FaultMatcher
  package var action: FaultAction

  package init(
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
package struct FaultDecision: Sendable, Equatable {
  /// The rule's place among those of the engine.
  package var rule: Int
  package var id: FaultID
  package var action: FaultAction
  /// What chance or order has chosen among the action's choices: milliseconds of a delay, the stream
  /// limit, the code of RST_STREAM. 0 for other actions.
  package var value: UInt64

  package init(rule: Int, id: FaultID, action: FaultAction, value: UInt64 = 0) {
    self.rule = rule
    self.id = id
    self.action = action
    self.value = value
  }
}

/// How often a rule was concerned and fired.
package struct FaultCount: Sendable, Equatable {
  package var rule: FaultRule
  /// What its chances depend on.
  package var seed: UInt64
  /// Events that passed the rule's filters.
  package var seen: UInt64
  package var fired: UInt64

  package init(rule: FaultRule, seed: UInt64, seen: UInt64, fired: UInt64) {
    self.rule = rule
    self.seed = seed
    self.seen = seen
    self.fired = fired
  }
}
