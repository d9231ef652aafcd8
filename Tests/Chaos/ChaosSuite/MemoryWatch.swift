// SPDX-License-Identifier: Apache-2.0
import EventLoop
import LabCommand

/// Resident memory of every process, sampled four times per second.
struct MemoryWatch {
  private struct Life {
    let pid: Int32
    let begin: UInt64
    var samples: [(time: UInt64, kilobytes: Int)] = []
  }

  private var lives: [String: Life] = [:]
  private var nextLook: UInt64 = 0
  /// The peak memory by process name, in KiB.
  private(set) var peaks: [String: Int] = [:]
  /// Processes whose memory grew although their load did not, as text.
  private(set) var growths: [String] = []

  /// Processes that remember everything they receive. The simulator grows with the run, but only by this many bytes per
  /// push.
  private static let remembering: Set<String> = ["simulator"]
  private static let rememberedPerPush = 1_024
  /// The maximum for any process, in MiB; for those that remember, in addition to what they remember.
  private static let limit = 160
  /// The memory that a process may reach at any time, in MiB; only growth above it counts. It includes 32 MiB of
  /// prefetched records (`dividePrefetch`), which large records fill late or never, as much again for the last batch of
  /// each partition, which may exceed its share, and as much for libraries, thread arenas and the database's pages.
  static let workingSet = 96
  /// The lifetime below which a process's growth is not judged.
  private static let shortestLife: UInt64 = 60_000

  mutating func look(_ states: [ChildState]) {
    let now = MonotonicClock.milliseconds()
    guard now >= nextLook else { return }
    nextLook = now + 250
    for state in states {
      if let life = lives[state.name], life.pid != state.pid { end(life, state.name) }
      guard let pid = state.pid, let size = ProcessStatus(pid)?.residentKilobytes else { continue }
      peaks[state.name] = max(peaks[state.name] ?? 0, size)
      lives[state.name, default: Life(pid: pid, begin: now)].samples.append((now, size))
    }
  }

  mutating func finish() {
    for (name, life) in lives { end(life, name) }
  }

  /// Processes that exceeded their limit after this many pushes, as text.
  ///
  /// - Parameter limits: Lower limits of some processes, in MiB by name.
  func excesses(pushes: Int, limits: [String: Int]) -> [String] {
    peaks.sorted { $0.key < $1.key }.compactMap { name, peak in
      let limit = (limits[name] ?? Self.limit) + Self.remembered(by: name, pushes: pushes)
      return peak >> 10 > limit ? "\(name) took \(peak >> 10) MiB; the limit is \(limit)" : nil
    }
  }

  /// The memory that a process may use for what it remembers, in MiB.
  static func remembered(by name: String, pushes: Int) -> Int {
    remembering.contains(name) ? (pushes * rememberedPerPush) >> 20 : 0
  }

  /// Compares the second quarter of a process's life with the last one: the first one is start-up.
  private mutating func end(_ life: Life, _ name: String) {
    lives[name] = nil
    guard !Self.remembering.contains(name) else { return }
    guard let last = life.samples.last, last.time - life.begin >= Self.shortestLife else { return }
    let quarter = life.samples.count / 4
    let before = life.samples[quarter..<quarter * 2].map(\.kilobytes).max() ?? 0
    let after = life.samples[(quarter * 3)...].map(\.kilobytes).max() ?? 0
    if Self.isGrowth(from: before, to: after) {
      growths.append("\(name) grew from \(before >> 10) to \(after >> 10) MiB")
    }
  }

  /// Whether the change from one amount to a later one, in KiB, counts as growth.
  static func isGrowth(from before: Int, to after: Int) -> Bool {
    let plateau = max(before, workingSet << 10)
    return after > plateau + max(16 << 10, plateau / 4)
  }
}
