// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Kafka
import Pipeline
import Records
import TestSupport
import Testing

@testable import Feedback

@Suite(.serialized) struct FeedbackLiftTests {
  private typealias Fixture = FeedbackFixture

  /// Suppression ends with the tombstone that a registration leads to. It takes some tens of milliseconds, and a second
  /// is promised (docs/operations.md has the figure); on a machine that does much else the bound here lies between that
  /// and the minute after which all marks are looked at anyway.
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
    var dead: Set<String> = []
    func follow() {
      table.poll(timeoutMilliseconds: 5) { key, value in
        let text = String(decoding: key, as: UTF8.self)
        if value == nil { dead.remove(text) } else { dead.insert(text) }
      }
    }
    #expect(
      eventually(withinMilliseconds: 20_000) {
        follow()
        return dead.count == 9
      })
    var times: [UInt64] = []
    for device in devices {
      let start = MonotonicClock.milliseconds()
      try fixture.send([DeviceRecord(device: device, event: .registered(at: 5_000))])
      let isLifted = eventually(withinMilliseconds: 30_000) {
        follow()
        return !dead.contains(device.description)
      }
      #expect(isLifted)
      times.append(MonotonicClock.milliseconds() - start)
    }
    times.sort()
    #expect(times[times.count / 2] < 8_000, "\(times)")
  }
}
