// SPDX-License-Identifier: Apache-2.0

/// The share that each destination has of the loop's slots and of each partition's open records, and its consequences:
/// which one stops the intake, which partitions are not read for one that crowds them, and what is moved aside.
struct Shares: Sendable {
  /// One partition of this assignment.
  private struct Partition: Sendable {
    /// Its open records by the destination that they are for.
    var open = OpenByDestination()
    /// The destination that has so much of it open that nothing is taken until that is less.
    var pausedBy: Int32?
  }

  private(set) var fairness: Fairness
  private var partitions: [Partition] = []
  /// The most records of one partition that may be open.
  private let openAtMost: Int
  /// The destination that stops the intake until it holds less.
  private var blockedBy: Int32?
  /// Destinations that pushes may be for.
  private var known = 0

  /// - Parameters:
  ///   - slots: of the loop.
  ///   - openAtMost: records of one partition.
  init(slots: Int, openAtMost: Int) {
    fairness = Fairness(slots: slots)
    self.openAtMost = openAtMost
  }

  /// One destination holds as much as it may: nothing is taken.
  var isBlocked: Bool { blockedBy != nil }

  /// Records are moved aside: how many more of a partition may be open matters.
  var isDiverting: Bool { fairness.isDiverting }
  /// True if nothing is taken from a partition because of the records that one destination has open of it.
  func isPaused(_ partition: Int) -> Bool { partitions[partition].pausedBy != nil }

  /// The number of the records that one partition may have open which are kept for reading past stuck destinations now.
  var reserve: Int { fairness.reserve(of: openAtMost) }

  // MARK: Events

  mutating func partitionAdded() { partitions.append(Partition()) }
  mutating func removePartitions() { partitions.removeAll() }

  /// A turn's intake begins: who is stuck, and whether the one that stopped the intake still does.
  ///
  /// - Parameter known: destinations that pushes may be for, if they were counted again.
  mutating func turn(known: Int?, free: Int, now: UInt64) {
    if let known { self.known = known }
    fairness.turn(known: self.known, now: now)
    if let destination = blockedBy, fairness.decide(Int(destination), free: free) != .wait {
      blockedBy = nil
    }
  }

  mutating func answered(_ destination: Int32) { fairness.answered(Int(destination)) }

  /// A push gives its slot of a destination back, and takes one of another; −1: of none.
  ///
  /// - Parameter partition: of its record; nil if that is of an earlier assignment.
  mutating func moved(from old: Int32, to new: Int32, partition: Int?) {
    if old >= 0 {
      fairness.freed(Int(old))
      if let partition { partitions[partition].open.remove(Int(old)) }
    }
    guard new >= 0 else { return }
    fairness.took(Int(new))
    if let partition { partitions[partition].open.add(Int(new)) }
  }

  // MARK: Decisions

  /// True if a push may wait for a destination; no: it is to be moved aside. Stops the intake, or that of its
  /// partition, if the destination has as much as it may.
  ///
  /// - Parameters:
  ///   - free: slots that nobody holds.
  ///   - partition: of its record; nil if that is of an earlier assignment.
  ///   - left: how many more records of that partition may be open; of no use unless `isDiverting`.
  mutating func admits(
    _ destination: Int32, free: Int, partition: Int?, left: Int
  ) -> Bool {
    let decision: Fairness.Decision
    if fairness.isDiverting, let partition {
      decision = decide(destination, free: free, partition: partition, left: left)
    } else {
      decision = fairness.decide(Int(destination), free: free)
    }
    switch decision {
    case .take: return true
    case .wait: blockedBy = destination
    case .pause: if let partition { partitions[partition].pausedBy = destination }
    case .divert: return false
    }
    return true
  }

  /// True if a destination still has so much of a partition open that nothing is taken from it.
  ///
  /// - Parameters:
  ///   - free: slots that nobody holds.
  ///   - left: how many more of its records may be open.
  mutating func staysPaused(_ partition: Int, free: Int, left: Int) -> Bool {
    guard let destination = partitions[partition].pausedBy else { return false }
    if decide(destination, free: free, partition: partition, left: left) == .pause { return true }
    partitions[partition].pausedBy = nil
    return false
  }

  private func decide(
    _ destination: Int32, free: Int, partition: Int, left: Int
  ) -> Fairness.Decision {
    fairness.decide(
      Int(destination), free: free, open: partitions[partition].open[Int(destination)], left: left,
      of: openAtMost)
  }
}
