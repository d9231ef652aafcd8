// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract
@testable import SenderDecisions

/// A pace of each device: no more than so many in its unit, and nobody else waits.
@Suite struct DevicePaceTests {
  private static let subject = PaceSubject.device("app", .production, .background)

  private func loop(_ rate: String = "2/h") -> ScriptedLoop {
    let loop = ScriptedLoop()
    loop.pace([(Self.subject, rate)])
    return loop
  }

  private func produce(
    _ pushes: Range<Int>, to device: UInt64, _ loop: ScriptedLoop,
    _ change: (inout PushFacts) -> Void = { _ in }
  ) {
    for push in pushes {
      loop.produce(push, lane: .bulk) {
        $0.device = device
        $0.pushType = .background
        change(&$0)
      }
    }
  }

  /// When a device's pushes were first sent.
  private func times(_ device: UInt64, _ loop: ScriptedLoop) -> [UInt64] {
    var seen: Set<Int> = []
    return loop.requests.filter { $0.device == device && seen.insert($0.push).inserted }.map(\.at)
  }

  private func isKept(_ times: [UInt64], _ count: Int, in milliseconds: UInt64) -> Bool {
    zip(times, times.dropFirst(count)).allSatisfy { $1 - $0 >= milliseconds }
  }

  @Test func `a device gets two an hour, all of them in the end, and others get theirs at once`() {
    let loop = loop()
    produce(0..<6, to: 7, loop)
    produce(10..<12, to: 8, loop)
    for push in 20..<24 { loop.produce(push, lane: .bulk) { $0.device = 7 } }
    loop.run(milliseconds: 1_000)
    // Of another type, or to another device.
    #expect(loop.delivered(20..<24) && loop.delivered(10..<12))
    #expect(times(7, loop).count == 6, "\(times(7, loop))")
    for _ in 0..<4 {
      // A provider token is of use for less than an hour.
      loop.publishToken()
      loop.run(milliseconds: 1_900_000, step: 100)
    }
    #expect(loop.delivered(0..<6), "\(loop.endings)")
    let background = loop.requests.filter { $0.push < 6 }.map(\.at)
    #expect(isKept(background, 2, in: 3_600_000), "\(background)")
    #expect(background.last! - background.first! <= 7_460_000, "\(background)")
    #expect(loop.moves.allSatisfy { $0.reason == .devicePace })
    #expect(loop.moves.count <= 4 * 45, "\(loop.moves.count)")
  }

  @Test
  func `a minute's pace is kept with a steady flow, whatever a retry or an unused stream costs`() {
    let loop = loop("3/m")
    var count = 0
    loop.answer { _ in
      count += 1
      return count % 5 == 1
        ? .refusedStream
        : count % 7 == 1 ? .reason(.serviceUnavailable, after: 0) : .accepted(after: 0)
    }
    for second in 0..<60 {
      produce(second * 10..<second * 10 + 1, to: 7, loop)
      loop.run(milliseconds: 10_000, step: 20)
    }
    let times = times(7, loop)
    #expect(times.count >= 26 && isKept(times, 3, in: 60_000), "\(times)")
  }

  @Test
  func `what was moved for another reason goes back to its lane, whose owner knows the device`() {
    let loop = loop("1/m")
    loop.pause(.app("app", .production))
    produce(0..<3, to: 7, loop)
    loop.run(milliseconds: 3_000)
    #expect(loop.moves.count == 3 && loop.moves.allSatisfy { $0.reason == .paused })
    loop.pause()
    loop.run(milliseconds: 200_000, step: 20)
    #expect(loop.delivered(0..<3) && loop.counted(.returned) == 3)
    #expect(isKept(times(7, loop), 1, in: 60_000), "\(times(7, loop))")
  }

  @Test func `what is moved for another reason and comes back before its device's time keeps that`()
  {
    let loop = loop("1/h")
    produce(0..<2, to: 7, loop)
    loop.run(milliseconds: 880_000, step: 100)
    loop.pause(.app("app", .production))
    loop.run(milliseconds: 60_000, step: 100)
    #expect(loop.moves.count == 2)
    loop.pause()
    // A provider token is of use for less than an hour.
    loop.publishToken()
    loop.run(milliseconds: 2_800_000, step: 100)
    #expect(loop.delivered(0..<2) && loop.counted(.returned) == 0)
    #expect(isKept(times(7, loop), 1, in: 3_600_000), "\(times(7, loop))")
  }

  @Test func `beside an app's pace a push keeps the time that its device's gave it`() {
    let loop = ScriptedLoop()
    loop.pace([(Self.subject, "1/m"), (.app("app", .production), "1/m")])
    produce(0..<3, to: 7, loop)
    produce(10..<13, to: 8, loop)
    loop.run(milliseconds: 1_200_000, step: 20)
    #expect(loop.delivered(0..<3) && loop.delivered(10..<13))
    #expect(isKept(times(7, loop), 1, in: 60_000) && isKept(times(8, loop), 1, in: 60_000))
  }

  @Test func `of states that wait for their device only the newest goes, and takes nobody's time`()
  {
    let loop = loop("1/m")
    for push in 0..<40 {
      produce(push..<push + 1, to: 7, loop) { $0.state = StateFacts(99) }
      loop.run(milliseconds: 5_000, step: 20)
    }
    loop.run(milliseconds: 130_000, step: 20)
    let times = times(7, loop)
    #expect((4...6).contains(times.count) && isKept(times, 1, in: 60_000), "\(times)")
    #expect(loop.endings[39]?.outcome == .delivered)
    #expect(loop.count(.superseded) + loop.count(.delivered) == 40)
  }

  @Test func `what is free of its device's pace goes at once, and takes nobody's time`() {
    let loop = ScriptedLoop()
    loop.pace([(.device("app", .production, .liveactivity), "1/h")])
    func produce(_ push: Int, _ urgency: Urgency, isFree: Bool, isFinal: Bool = false) {
      loop.produce(push) {
        $0.device = 7
        $0.pushType = .liveactivity
        $0.state = StateFacts(99, isFinal: isFinal, urgency: urgency)
        $0.isFreeOfDevicePace = isFree
      }
      loop.run(milliseconds: 200)
    }
    for push in 0..<5 { produce(push, [], isFree: true) }
    #expect(loop.delivered(0..<5))
    produce(5, .immediate, isFree: false)
    produce(6, .immediate, isFree: false)
    produce(7, [], isFree: true)
    #expect(loop.delivered(5..<6) && loop.endings[6] == nil && loop.delivered(7..<8))
    produce(8, [], isFree: true, isFinal: true)
    #expect(loop.delivered(8..<9))
    loop.run(milliseconds: 1_000_000, step: 100)
    #expect(loop.endings[6]?.outcome == .superseded)
  }

  @Test func `what expires before its time ends so, and others take it`() {
    let loop = loop("1/m")
    produce(0..<1, to: 7, loop)
    produce(1..<5, to: 7, loop) { $0.expiresAt = $0.created + 20_000 }
    produce(5..<6, to: 7, loop)
    loop.run(milliseconds: 75_000, step: 20)
    #expect(loop.count(.expired) == 4 && loop.delivered(5..<6))
  }

  @Test func `when the pace is cleared what waits goes as it comes back`() {
    let loop = loop("1/d")
    produce(0..<5, to: 7, loop)
    loop.run(milliseconds: 1_000)
    #expect(loop.count(.delivered) == 1)
    loop.pace([])
    loop.run(milliseconds: 905_000, step: 100)
    #expect(loop.delivered(0..<5))
  }
}
