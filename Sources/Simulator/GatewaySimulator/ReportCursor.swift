// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Synchronization

/// Iterates over what the loops have recorded, in chunks, while they go on recording.
final class ReportCursor: Sendable {
  private let loops: [LoopShare]
  private let place = Mutex((loop: 0, entry: 0))

  private static let linesAtOnce = 1_000

  init(_ loops: [LoopShare]) { self.loops = loops }

  /// Returns the next lines, or nil after the last.
  @Sendable func next() -> [UInt8]? {
    place.withLock { place in
      var buffer = ByteBuffer(capacity: 300 * Self.linesAtOnce)
      while place.loop < loops.count {
        let written = loops[place.loop].log.write(
          from: place.entry, atMost: Self.linesAtOnce, into: &buffer)
        place.entry += written
        if written > 0 { return Array(buffer.bytes) }
        place = (place.loop + 1, 0)
      }
      return nil
    }
  }
}
