// SPDX-License-Identifier: Apache-2.0
import Contract
import Records
import SenderDecisions
import Testing

@testable import Sender

@Suite struct PushFactsTests {
  private func created(_ created: Int64, written: Int64) throws -> Int64 {
    let text = SenderRig.envelope(id: SenderRig.id(1), created: created)
    let envelope = try Envelope.parse(text.utf8.span)
    return Array(SenderRig.token(0).utf8).withUnsafeBytes { key in
      Array(text.utf8).withUnsafeBytes { value in
        PushFacts(
          envelope, key: key, value: value, written: written, collapseBefore: .min, in: 0
        ).created
      }
    }
  }

  /// Whoever writes a record chooses its timestamp, and brokers before Kafka 4.0 take any.
  @Test(arguments: [1_800_000_000_000, OutsideTime.last, .max - OutsideTime.skew, .max] as [Int64])
  func `a record of the far future is as old as its request`(written: Int64) throws {
    let time: Int64 = 1_800_000_000_000
    #expect(try created(time, written: written) == time)
  }

  @Test func `a request is not younger than its record, but for the difference of two clocks`()
    throws
  {
    let time: Int64 = 1_800_000_000_000
    #expect(try created(time + 3_600_000, written: time) == time + OutsideTime.skew)
    #expect(try created(time, written: -1) == time)
  }
}
