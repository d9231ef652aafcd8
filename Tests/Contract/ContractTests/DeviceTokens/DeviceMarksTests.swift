// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// What a batch publishes about a device.
@Suite struct DeviceMarksTests {
  private func answer(_ status: UInt16, _ reason: String, at time: Int64) -> TokenAnswer {
    TokenAnswer(status: status, reason: reason, timestamp: nil, sentAt: time, at: time + 1)
  }

  /// A device that was reported invalid and then forgotten.
  private func forgotten() -> DeviceMarks<Int> {
    var marks = DeviceMarks<Int>(clockSkew: 0)
    _ = marks.judge(answer(410, "Unregistered", at: 1_000), 7, DeviceState())
    marks.forget(received: 2_000, 7, DeviceState())
    return marks
  }

  @Test func `a suspicion after a tombstone does not bring back what was reported before it`() {
    var marks = forgotten()
    let verdict = marks.judge(answer(400, "BadDeviceToken", at: 3_000), 7, DeviceState())
    #expect(verdict == .suspect)
    let publications = marks.publications()
    #expect(publications.count == 1)
    #expect(publications.first?.mark == nil)
    #expect(publications.first?.release?.reason == .removed)
  }

  @Test func `what is reported after a tombstone stands`() {
    var marks = forgotten()
    _ = marks.judge(answer(410, "Unregistered", at: 3_000), 7, DeviceState())
    let publications = marks.publications()
    #expect(publications.count == 1)
    #expect(publications.first?.mark?.recordedAt == 3_001)
  }
}
