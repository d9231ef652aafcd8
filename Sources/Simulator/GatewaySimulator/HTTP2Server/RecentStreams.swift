// SPDX-License-Identifier: Apache-2.0

/// The newest thousand or two of a connection's streams of some kind.
struct RecentStreams {
  private static let room = 1_000
  private var streams: [Int32] = []

  mutating func insert(_ stream: Int32) {
    if streams.count == 2 * Self.room { streams.removeFirst(Self.room) }
    streams.append(stream)
  }

  func contains(_ stream: Int32) -> Bool { streams.contains(stream) }

  /// Forgets a stream; returns false if it is not there.
  mutating func remove(_ stream: Int32) -> Bool {
    guard let place = streams.lastIndex(of: stream) else { return false }
    streams.remove(at: place)
    return true
  }
}
