// SPDX-License-Identifier: Apache-2.0

/// What a test asks of a run.
extension ScriptedDestination {
  /// The most connects within so many milliseconds, not counting the first ones.
  func mostConnects(within span: UInt64, from begin: Int = 0) -> Int {
    var most = 0
    var first = begin
    for (index, at) in connects.enumerated().dropFirst(begin) {
      while at - connects[first] >= span { first += 1 }
      most = max(most, index - first + 1)
    }
    return most
  }

  /// The same for each address: the most connects to one of them.
  func mostConnectsToOne(within span: UInt64) -> Int {
    let times = Dictionary(grouping: zip(tried, connects), by: \.0)
    return times.values.map { times in
      let times = times.map(\.1)
      return times.indices.map { first in
        times[first...].prefix { $0 - times[first] < span }.count
      }.max() ?? 0
    }.max() ?? 0
  }

  /// Runs, and returns the longest time in milliseconds in which no push of another app than this one was delivered.
  func longestWait(within span: UInt64, butOf refused: Int) -> UInt64 {
    let end = now + span
    var (last, longest, before) = (now, 0 as UInt64, 0)
    while now < end {
      run(milliseconds: step)
      let count = delivered.reduce(0) { $0 + ($1.key == refused ? 0 : $1.value) }
      longest = max(longest, now - last)
      if count > before { (last, before) = (now, count) }
    }
    return longest
  }
}
