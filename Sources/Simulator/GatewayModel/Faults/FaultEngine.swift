// SPDX-License-Identifier: Apache-2.0
import Waiting

/// Decides which faults are due. The same seed, rules and events give the same decisions, so a run can be replayed.
///
/// Each rule has its own random numbers, so adding a rule does not affect the others.
public struct FaultEngine: Sendable {
  private struct Entry: Sendable {
    let rule: FaultRule
    /// The time at which the rule was added, in ms.
    let start: UInt64
    /// The number of connections accepted before the rule was added or the gateway was reset.
    var connectionsBefore: UInt64
    /// The seed of the rule's random numbers.
    let seed: UInt64
    var random: SeededGenerator
    var memory = FaultMemory()
    var seen: UInt64 = 0
    var fired: UInt64 = 0
    /// Whether a standing rule holds now.
    var holds = false
  }

  /// The seed of all random numbers.
  public let seed: UInt64
  private var entries: [Entry] = []
  /// The number of rules added since the seed was set; `removeAll` does not reset it.
  private var added: UInt64 = 0
  /// A bit for each stage that a rule applies to.
  private var stages: UInt8 = 0

  public init(seed: UInt64) { self.seed = seed }

  public var isEmpty: Bool { entries.isEmpty }

  /// Whether any rule applies to this stage.
  public func concerns(_ stage: FaultStage) -> Bool { stages & 1 << stage.rawValue != 0 }

  /// Appends rules.
  ///
  /// - Parameters:
  ///   - time: The start of their times (ms).
  ///   - connections: Connections accepted so far; the rules count from the next one.
  ///   - own: A seed for these rules: their random numbers then depend on it and on their order alone, not on rules
  ///     added before. Without one they depend on the engine's seed.
  public mutating func add(
    _ rules: [FaultRule], at time: UInt64, after connections: UInt64 = 0, seed own: UInt64? = nil
  ) {
    for (place, rule) in rules.enumerated() {
      let seed = own ?? seed
      let number = own == nil ? added : UInt64(place)
      var mixer = SeededGenerator(seed: seed &+ number &* 0xD6E8_FEB8_6659_FD93)
      entries.append(
        Entry(
          rule: rule, start: time, connectionsBefore: connections, seed: seed,
          random: SeededGenerator(seed: mixer.next())))
      stages |= 1 << rule.stage.rawValue
      added += 1
    }
  }

  /// Restarts the rules' connection counts after a reset of the gateway: its next connection is number 1.
  public mutating func restartConnections(after connections: UInt64) {
    for index in entries.indices { entries[index].connectionsBefore = connections }
  }

  /// Removes the rules for which `isOld` returns true. Adding the same rules again gives a different run unless they
  /// have a seed of their own or the engine is new.
  public mutating func remove(where isOld: (FaultRule) -> Bool) {
    entries.removeAll { isOld($0.rule) }
    stages = entries.reduce(0) { $0 | 1 << $1.rule.stage.rawValue }
  }

  /// Removes every rule.
  public mutating func removeAll() { remove { _ in true } }

  /// The rules and how often each has fired.
  public var counts: [FaultCount] {
    entries.map { FaultCount(rule: $0.rule, seed: $0.seed, seen: $0.seen, fired: $0.fired) }
  }

  /// Returns the faults that are due at an event, in the order of the rules.
  public mutating func decide(_ event: FaultEvent) -> [FaultDecision] {
    guard concerns(event.stage) else { return [] }
    var decisions: [FaultDecision] = []
    for index in entries.indices where entries[index].rule.stage == event.stage {
      guard isDue(index, event) else { continue }
      entries[index].fired += 1
      decisions.append(decision(index, event))
    }
    return decisions
  }

  /// Returns the standing rules that hold at `event.time`. A rule is counted each time it starts to hold.
  public mutating func standing(_ event: FaultEvent) -> [FaultDecision] {
    guard concerns(.standing) else { return [] }
    var decisions: [FaultDecision] = []
    for index in entries.indices where entries[index].rule.stage == .standing {
      let rule = entries[index].rule
      // Address and environment come from the rule here, not from the event: they say where it applies.
      var matcher = rule.matcher
      matcher.address = nil
      matcher.environment = nil
      let holds = matcher.passes(event, since(index, event))
      if holds, !entries[index].holds {
        entries[index].seen += 1
        entries[index].fired += 1
      }
      entries[index].holds = holds
      if holds {
        decisions.append(FaultDecision(rule: index, fault: rule.fault, action: rule.action))
      }
    }
    return decisions
  }

  /// Returns the addresses and environments that a standing rule applies to.
  public func matcher(of decision: FaultDecision) -> FaultMatcher {
    entries[decision.rule].rule.matcher
  }

  /// Forgets the state kept for a connection that has ended.
  public mutating func forget(connection: UInt64) {
    for index in entries.indices { entries[index].memory.forget(connection) }
  }

  /// The time and connections between the rule's start and an event.
  private func since(_ index: Int, _ event: FaultEvent) -> FaultMatcher.Distance {
    let entry = entries[index]
    return FaultMatcher.Distance(
      milliseconds: event.time - min(event.time, entry.start),
      connections: event.connection - min(event.connection, entry.connectionsBefore))
  }

  private mutating func isDue(_ index: Int, _ event: FaultEvent) -> Bool {
    let matcher = entries[index].rule.matcher
    guard matcher.passes(event, since(index, event)), entries[index].memory.holds(matcher, event)
    else { return false }
    entries[index].seen += 1
    guard matcher.picks(entries[index].seen) else { return false }
    if matcher.probability < 1, entries[index].random.share() >= matcher.probability {
      return false
    }
    return entries[index].fired < matcher.times ?? .max
  }

  private mutating func decision(_ index: Int, _ event: FaultEvent) -> FaultDecision {
    let rule = entries[index].rule
    let value: UInt64
    switch rule.action {
    case .delay(let profile):
      let elapsed = event.time - min(event.time, entries[index].start)
      value = profile.milliseconds(&entries[index].random, elapsed: elapsed, age: event.age)
    case .limits(let limits, _) where !limits.isEmpty:
      value = UInt64(limits[Int((entries[index].fired - 1) % UInt64(limits.count))])
    case .resets(let codes) where !codes.isEmpty, .ending(_, let codes) where !codes.isEmpty:
      value = UInt64(codes[Int(entries[index].random.next() % UInt64(codes.count))])
    case .shape(let shape) where shape.contains(.outOfOrder):
      value = entries[index].random.next() % 50
    default: value = 0
    }
    return FaultDecision(rule: index, fault: rule.fault, action: rule.action, value: value)
  }
}
