// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

/// A command that writes to Kafka and gets no answer.
@Suite struct StandstillTests {
  @Test func `a standstill is noticed after a while, ends with an answer, and is over in time`() {
    var standstill = Standstill(noticeable: 5_000, patience: 60_000)
    #expect(standstill.look(answered: 0, outstanding: 10, now: 1_000) == .moving)
    #expect(standstill.look(answered: 3, outstanding: 10, now: 2_000) == .moving)
    #expect(standstill.look(answered: 3, outstanding: 10, now: 6_999) == .moving)
    #expect(standstill.look(answered: 3, outstanding: 10, now: 7_000) == .standing(5_000))
    #expect(standstill.look(answered: 3, outstanding: 10, now: 40_000) == .standing(38_000))
    #expect(standstill.total == 0)
    #expect(standstill.look(answered: 4, outstanding: 10, now: 41_000) == .resumed(39_000))
    #expect(standstill.total == 39_000)
    #expect(standstill.look(answered: 5, outstanding: 10, now: 41_500) == .moving)
    #expect(standstill.look(answered: 5, outstanding: 10, now: 101_500) == .over(60_000))
  }

  @Test func `who waits for nothing does not stand`() {
    var standstill = Standstill()
    for second in 0..<500 as Range<UInt64> {
      #expect(standstill.look(answered: 7, outstanding: 0, now: second * 1_000) == .moving)
    }
    #expect(standstill.look(answered: 7, outstanding: 1, now: 500_000) == .moving)
    #expect(standstill.look(answered: 7, outstanding: 1, now: 503_000) == .moving)
    #expect(standstill.look(answered: 7, outstanding: 1, now: 504_000) == .standing(5_000))
  }

  private func topic(_ change: (inout WriteObstacle.Topic) -> Void) -> WriteObstacle.Topic {
    var topic = WriteObstacle.Topic("push.devices")
    topic.partitions = 12
    change(&topic)
    return topic
  }

  private func reason(_ change: (inout WriteObstacle) -> Void) -> String {
    var obstacle = WriteObstacle()
    change(&obstacle)
    return obstacle.reason
  }

  @Test func `the likeliest reason is named, with what to do about it`() {
    let few = topic {
      $0.minimum = 2
      $0.belowMinimum = 5
      $0.fewestInSync = 1
    }
    let isThrottled = "broker 3 delays its answers"
    #expect(
      reason { $0.topics = [topic { _ in }, few] }
        == "5 of 12 partitions of push.devices have too few in-sync replicas (1, and min.insync.replicas is 2); start"
        + " the brokers that are away")
    #expect(
      reason { $0.topics = [topic { $0.leaderless = 3 }] }
        == "3 of 12 partitions of push.devices have no leader; start the brokers that have them")
    #expect(
      reason { $0.topics = [topic { $0.error = "gone" }, few] } == "topic push.devices: gone")
    #expect(
      reason {
        $0.topics = [topic { _ in }]
        $0.throttling = 3
      }.hasPrefix(isThrottled))
    #expect(reason { $0.silence = "no broker answers" } == "no broker answers")
    #expect(
      reason {
        $0.refusal = "not yours to write"
        $0.silence = "no broker answers"
      } == "not yours to write")
    #expect(reason { $0.lastError = "cut" }.hasSuffix("the last error of a connection was: cut"))
    #expect(reason { _ in }.contains("see the brokers' logs"))
  }
}
