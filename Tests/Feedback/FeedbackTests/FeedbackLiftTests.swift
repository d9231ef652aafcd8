// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Kafka
import Records
import TestSupport
import Testing

@testable import Feedback

@Suite(.serialized) struct FeedbackLiftTests {
  private typealias Fixture = FeedbackFixture

  /// Suppression ends with the tombstone that a registration leads to. On a machine that does much else each step may
  /// take long, but a wait by the clock (of a poll, a batch, a commit or a round) would be in each of the nine times. So
  /// the shortest shows that there is none of a second; docs/tokens.md has the usual time.
  @Test(arguments: DatabaseKind.allCases)
  func `a registration takes an invalid token off the topic at once, not in the next round`(
    kind: DatabaseKind
  ) throws {
    let fixture = try Fixture(kind)
    let devices = (1...9).map { Fixture.device($0) }
    try fixture.send(devices.map { Fixture.feedback($0) })
    let service = try fixture.start()
    defer { service.stop() }
    #expect(fixture.invalid(atLeast: 9).count == 9)
    let table = try KafkaTable(fixture.kafka.configuration, topic: fixture.names.invalidTokens)
    defer { table.close() }
    var invalid: Set<String> = []
    func follow() {
      table.poll(timeoutMilliseconds: 5) { key, value in
        let text = String(decoding: key, as: UTF8.self)
        if value == nil { invalid.remove(text) } else { invalid.insert(text) }
      }
    }
    expectEventually {
      follow()
      return invalid.count == 9
    }
    var times: [UInt64] = []
    for device in devices {
      let start = MonotonicClock.milliseconds()
      try fixture.send([DeviceRecord(device: device, event: .registered(at: 5_000))])
      expectEventually {
        follow()
        return !invalid.contains(device.description)
      }
      times.append(MonotonicClock.milliseconds() - start)
    }
    times.sort()
    print("registrations lifted marks within these times, in ms (\(kind)): \(times)")
    #expect(times[0] < 1_000, "\(times)")
  }
}
