// SPDX-License-Identifier: Apache-2.0
import Random

/// Decides which faults are due. The same seed, rules and events give the same decisions: a run can
/// be replayed.
///
/// Each rule draws from numbers of its own, so adding a rule changes nothing for the others.
public struct FaultEngine: Sendable {
  private struct Entry: Sendable {
    let rule: FaultRule
    /// When the rule was added, in ms.
    let start: UInt64
    /// Connections that had been accepted when the rule was added, or when the gateway was reset.
    var connectionsBefore: UInt64
    /// The seed of its chances.
    let seed: UInt64
    var random: SeededGenerator
    var memory = FaultMemory()
    var seen: UInt64 = 0
    var fired: UInt64 = 0
    /// A standing rule holds now.
    var holds = false
  }

  /// The seed of all chances.
  public let seed: UInt64
  private var entries: [Entry] = []
  /// Rules added since the seed was set; it goes on after `removeAll`.
  private var added: UInt64 = 0
  /// For each stage, whether a rule looks at it.
  private var stages: UInt8 = 0

  public init(seed: UInt64) { self.seed = seed }

  public var isEmpty: Bool { entries.isEmpty }

  /// True if any rule looks at this moment.
  public func concerns(_ stage: FaultStage) -> Bool { stages & 1 << stage.rawValue != 0 }

  /// Adds rules after those that are there.
  ///
  /// - Parameters:
  ///   - time: Their times count from it (ms).
  ///   - connections: Connections accepted so far; theirs count from the next one.
  ///   - own: A seed of these rules: their draws then depend on it and their order alone, whatever was
  ///     added before. Without one they depend on the engine's.
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

  /// The gateway was reset after so many connections: the next one is every rule's first.
  public mutating func restartConnections(after connections: UInt64) {
    for index in entries.indices { entries[index].connectionsBefore = connections }
  }

  /// Forgets the rules that `isOld` names. With the same rules added again the run is another one unless a new engine
  /// is made, or they have a seed of their own.
  public mutating func remove(where isOld: (FaultRule) -> Bool) {
    entries.removeAll { isOld($0.rule) }
    stages = entries.reduce(0) { $0 | 1 << $1.rule.stage.rawValue }
  }

  /// Forgets every rule.
  public mutating func removeAll() { remove { _ in true } }

  /// The rules and how often each fired.
  public var counts: [FaultCount] {
    entries.map { FaultCount(rule: $0.rule, seed: $0.seed, seen: $0.seen, fired: $0.fired) }
  }

  /// The faults that are due at an event, in the order of the rules.
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

  /// The standing rules that hold at `event.time`. A rule is counted each time it begins to hold.
  public mutating func standing(_ event: FaultEvent) -> [FaultDecision] {
    guard concerns(.standing) else { return [] }
    var decisions: [FaultDecision] = []
    for index in entries.indices where entries[index].rule.stage == .standing {
      let rule = entries[index].rule
      // Address and environment are not the event's here but the rule's: which ones are meant.
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

  /// The addresses and environments that a standing rule applies to.
  public func matcher(of decision: FaultDecision) -> FaultMatcher {
    entries[decision.rule].rule.matcher
  }

  /// Forgets what was collected about a connection that has ended.
  public mutating func forget(connection: UInt64) {
    for index in entries.indices { entries[index].memory.forget(connection) }
  }

  /// The distance of an event from the rule's beginning.
  private func since(_ index: Int, _ event: FaultEvent) -> FaultMatcher.Distance {
    let entry = entries[index]
    return FaultMatcher.Distance(
      milliseconds: event.time - min(event.time, entry.start),
      connections: event.connection - min(event.connection, entry.connectionsBefore))
  }

  private mutating func isDue(_ index: Int, _ event: FaultEvent) -> Bool {
    let matcher = entries[index].rule.matcher
    guard matcher.passes(event, since(index, event)),
      entries[index].memory.holds(matcher, event)
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
