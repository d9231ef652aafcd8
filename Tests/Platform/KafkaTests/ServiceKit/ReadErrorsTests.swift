// SPDX-License-Identifier: Apache-2.0
import Kafka
import Telemetry
import Testing

@testable import ServiceKit

/// A broker that fails every fetch of sixty partitions.
@Suite struct ReadErrorsTests {
  private func error(_ code: Int32, _ partition: Int) -> KafkaError {
    KafkaError(code: code, message: "push.notifications/\(partition): failed")
  }

  @Test func `of each kind the first is logged, and then one now and then`() {
    let errors = ReadErrors()
    var logged: [Int] = []
    for now in stride(from: UInt64(0), to: RepeatedMessages.interval, by: 100) {
      for partition in 0..<60 {
        if let more = errors.admit(error(-1, partition), now: now) { logged.append(more) }
      }
    }
    #expect(logged == [0])
    #expect(errors.admit(error(2, 0), now: 100) == 0, "another kind")
    let more = errors.admit(error(-1, 7), now: RepeatedMessages.interval)
    #expect(more == 60 * Int(RepeatedMessages.interval / 100) - 1)
  }

  @Test func `one that comes again after it had ended is logged at once`() {
    let errors = ReadErrors()
    #expect(errors.admit(error(-1, 0), now: 0) == 0)
    #expect(errors.admit(error(-1, 0), now: 1) == nil)
    #expect(errors.admit(error(-1, 0), now: 1 + RepeatedMessages.quiet) == 0)
  }
}
