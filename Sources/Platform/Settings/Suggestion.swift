// SPDX-License-Identifier: Apache-2.0

public enum Suggestion {
  /// ` (did you mean …?)`, or nothing when no name is near.
  public static func phrase(for name: String, among names: [String], prefix: String = "") -> String
  {
    guard let near = nearest(to: name, among: names) else { return "" }
    return " (did you mean \(prefix)\(near)?)"
  }

  /// The nearest name that is at most a third of its length away.
  public static func nearest(to name: String, among names: [String]) -> String? {
    var best: (name: String, distance: Int)?
    let wanted = Array(name.utf8)
    for candidate in names {
      let limit = max(1, candidate.utf8.count / 3)
      // Each byte that one has more is a step, so most names need no reckoning.
      guard abs(wanted.count - candidate.utf8.count) <= limit else { continue }
      guard let distance = editDistance(wanted, Array(candidate.utf8), atMost: limit) else {
        continue
      }
      if best.map({ distance < $0.distance }) ?? true { best = (candidate, distance) }
    }
    return best?.name
  }

  /// Insertions, deletions, replacements and swaps of neighbours between two words; nil for more than `limit`.
  static func editDistance(_ a: [UInt8], _ b: [UInt8], atMost limit: Int) -> Int? {
    var before = [Int](repeating: 0, count: b.count + 1)
    var previous = Array(0...b.count)
    var row = before
    for i in a.indices {
      row[0] = i + 1
      var least = i + 1
      for j in b.indices {
        var cost = min(previous[j + 1], row[j]) + 1
        cost = min(cost, previous[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { cost = min(cost, before[j - 1] + 1) }
        row[j + 1] = cost
        least = min(least, cost)
      }
      // No later row is nearer: a swap costs one step more than the row before this one.
      if least > limit { return nil }
      swap(&before, &previous)
      swap(&previous, &row)
    }
    return previous[b.count] <= limit ? previous[b.count] : nil
  }
}
