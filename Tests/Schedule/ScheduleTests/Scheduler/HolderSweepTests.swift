// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Scheduler

/// When the waiting requests of removed API keys are searched for.
@Suite struct HolderSweepTests {
  @Test func `what was not read when a sweep began is searched later, once`() {
    var sweep = HolderSweep()
    let begins = [2, 2, 1, 0, 0].map { unread in
      sweep.begins(revision: 1, round: 1, unread: unread, isRecent: false, now: 100_000)
    }
    #expect(begins == [true, false, false, true, false])
  }

  @Test func `after a recent removal it is searched again each minute`() {
    var sweep = HolderSweep()
    let times: [UInt64] = [0, 59_999, 60_000, 60_001]
    let begins = times.map { now in
      sweep.begins(revision: 1, round: 1, unread: 0, isRecent: true, now: now)
    }
    #expect(begins == [true, false, true, false])
  }
}
