// SPDX-License-Identifier: Apache-2.0
import Testing

@testable import Contract
@testable import SenderDecisions

/// Paces of lanes, apps and groups: nothing is faster, and nobody else waits.
@Suite struct PaceTests {
  /// A fleet of loops that own the same number of partitions each.
  private func fleet(_ loops: Int, of total: Int? = nil) -> [ScriptedLoop] {
    (0..<loops).map { number in
      let (loop, all) = (ScriptedLoop(partitions: 2, seed: UInt64(number) + 1), total ?? loops)
      loop.count(PartitionTotals(ofLanes: [2 * all, 2 * all], ofRetries: 3 * all))
      return loop
    }
  }

  /// The first sends of pushes in each ten seconds that begin with a full second, from this time on.
  private func windows(_ loops: [ScriptedLoop], from start: UInt64 = 101_000) -> [Int] {
    let seconds = Int((loops[0].now - start) / 1_000)
    var sends = Array(repeating: 0, count: seconds)
    for loop in loops {
      var seen: Set<Int> = []
      for request in loop.requests where seen.insert(request.push).inserted && request.at > start {
        let second = Int((request.at - start - 1) / 1_000)
        if second < seconds { sends[second] += 1 }
      }
    }
    return (0...seconds - 10).map { sends[$0..<$0 + 10].reduce(0, +) }
  }

  private func isKept(_ windows: [Int], perSecond: Double) -> Bool {
    windows.allSatisfy { abs(Double($0) - perSecond * 10) <= max(1, perSecond * 0.1) }
  }

  @Test(arguments: [
    (1, PaceSubject.lane("bulk")), (2, .lane("bulk")), (3, .lane("bulk")), (4, .lane("bulk")),
    (1, .app("app", .production)), (4, .group("app", .production, "g")),
  ])
  func `1 to 4 loops keep 137/s to within 1 % in any ten seconds`(
    loops: Int, subject: PaceSubject
  ) {
    let fleet = fleet(loops)
    let group = AppHash.of("g".utf8.span)
    for loop in fleet {
      loop.pace([(subject, "137/s")])
      loop.produce(0..<3_000, lane: .bulk) { $0.group = group }
      loop.run(milliseconds: 21_000, step: 5)
    }
    let windows = windows(fleet)
    #expect(isKept(windows, perSecond: 137), "\(windows)")
  }

  @Test func `a paced lane's pushes stay in Kafka, and those of the other lane go at once`() {
    let loop = ScriptedLoop()
    loop.pace([(.lane("bulk"), "100/s")])
    loop.produce(0..<3_000, lane: .bulk)
    loop.run(milliseconds: 5_000)
    loop.produce(10_000..<10_100)
    loop.run(milliseconds: 100)
    #expect(loop.delivered(10_000..<10_100))
    #expect(loop.unread(of: 1) >= 2_480 && loop.moves.isEmpty)
    #expect(loop.held <= 7)
  }

  @Test func `a paced app or group delays nobody in the same partition`() {
    for subject in [PaceSubject.app("app", .production), .group("app", .production, "g")] {
      let loop = ScriptedLoop()
      loop.publishToken("other", apps: ["other"])
      loop.run(milliseconds: 100)
      loop.pace([(subject, "50/s")])
      for number in 0..<4_000 {
        loop.produce(number, lane: .bulk) { $0.group = AppHash.of("g".utf8.span) }
        if number % 100 == 0 { loop.produce(10_000 + number / 100, app: "other", lane: .bulk) }
      }
      #expect(loop.run(within: 1_500) { loop.delivered(10_000..<10_040) }, "\(subject)")
      loop.run(milliseconds: 20_000)
      // Those of the other app went in the first second and a half.
      let windows = windows([loop], from: 102_000)
      #expect(isKept(windows, perSecond: 50), "\(subject): \(windows)")
      #expect(loop.held <= 260)
    }
  }

  @Test
  func `a group keeps its pace over lanes together and with its app's, and is its app's alone`() {
    let loop = ScriptedLoop()
    let group = AppHash.of("g".utf8.span)
    loop.pace([(.group("app", .production, "g"), "100/s"), (.app("app", .production), "30/s")])
    loop.publishToken("other", apps: ["other"])
    loop.produce(0..<2_000, app: "other") { $0.group = group }
    loop.produce(2_000..<4_000, lane: .bulk) { $0.group = group }
    // The same group of another app, and of the other environment, has no pace.
    #expect(loop.run(within: 3_000) { loop.delivered(0..<2_000) })
    loop.produce(4_000..<4_100, lane: .bulk) { ($0.group, $0.environment) = (group, .sandbox) }
    #expect(loop.run(within: 3_000) { loop.delivered(4_000..<4_100) })
    let first = loop.requests.count { $0.app == "app" }
    loop.run(milliseconds: 10_000)
    let ofApp = loop.requests.count { $0.app == "app" } - first
    #expect((290...310).contains(ofApp), "\(ofApp)")
  }

  @Test
  func `a backlog that takes minutes keeps its pace to the end, moved a bounded number of times`() {
    let loop = ScriptedLoop()
    loop.pace([(.app("app", .production), "5/s")])
    loop.produce(0..<6_000, lane: .bulk)
    loop.run(milliseconds: 1_230_000, step: 40)
    #expect(loop.endings.count == 6_000)
    let windows = windows([loop]).dropLast(35)
    #expect(isKept(Array(windows), perSecond: 5), "\(windows.filter { abs($0 - 50) > 1 })")
    #expect(loop.moves.count < 6_000 * 15, "\(loop.moves.count)")
    #expect(loop.moves.allSatisfy { $0.reason == .pace })
  }

  @Test func `a retry does not count again, and comes when it is due`() {
    let loop = ScriptedLoop()
    loop.pace([(.app("app", .production), "10/s")])
    var failed: Set<Int> = []
    loop.answer { request in
      failed.insert(request.push).inserted
        ? .reason(.serviceUnavailable, after: 0) : .accepted(after: 0)
    }
    loop.produce(0..<400, lane: .bulk)
    loop.run(milliseconds: 31_000)
    let windows = windows([loop])
    #expect(windows.allSatisfy { $0 <= 101 }, "\(windows)")
    #expect(loop.requests.count > windows.reduce(0, +) / 10)
  }

  @Test func `no burst follows a start, an outage or an idle time`() {
    let loop = ScriptedLoop()
    loop.pace([(.lane("bulk"), "100/s"), (.app("app", .production), "100/s")])
    loop.answer { _ in .hold }
    loop.produce(0..<5_000, lane: .bulk)
    loop.run(milliseconds: 20_000)
    let first = loop.requests.count
    loop.answer { _ in .accepted(after: 0) }
    loop.answerHeld()
    loop.run(milliseconds: 1_000)
    #expect(loop.requests.count - first <= 110, "\(loop.requests.count - first)")
  }

  @Test func `while another pace changes no more of a lane is taken than may go`() {
    let loop = ScriptedLoop()
    loop.answer { _ in .hold }
    loop.produce(0..<5_000, lane: .bulk)
    for change in 1...20 {
      loop.pace([(.lane("bulk"), "100/s"), (.group("app", .production, "x"), "\(change)/s")])
      loop.run(milliseconds: 1_000)
    }
    #expect(loop.held <= 10, "\(loop.held)")
    let first = loop.requests.count
    loop.answer { _ in .accepted(after: 0) }
    loop.answerHeld()
    loop.run(milliseconds: 1_000)
    #expect(loop.requests.count - first <= 110, "\(loop.requests.count - first)")
    // A lane that had none for a while begins anew.
    loop.pace([])
    loop.pace([(.lane("bulk"), "100/s")])
    let second = loop.count(.delivered)
    loop.run(milliseconds: 2_000)
    #expect((180...260).contains(loop.count(.delivered) - second))
  }

  @Test func `a loop that owns a part of the partitions keeps that part, and none without any`() {
    let loop = fleet(1, of: 4)[0]
    loop.pace([(.lane("bulk"), "100/s"), (.group("app", .production, "x"), "8/s")])
    #expect(loop.paces.map(\.perSecond) == [25, 2])
    loop.drain(within: 100)
    loop.run(milliseconds: 200)
    #expect(loop.given != nil && loop.paces.map(\.perSecond) == [0, 0])
  }

  @Test func `what waits is handed back unsent, and goes when its pace is cleared`() {
    let loop = ScriptedLoop()
    loop.pace([(.app("app", .production), "5/s")])
    loop.produce(0..<20, lane: .bulk)
    loop.run(milliseconds: 300)
    #expect(loop.held > 10 && loop.counted(.waitingForPace) > 10)
    loop.pace([])
    loop.run(milliseconds: 100)
    #expect(loop.delivered(0..<20) && loop.counted(.waitingForPace) == 0)
    loop.pace([(.app("app", .production), "5/s")])
    loop.produce(20..<40, lane: .bulk)
    loop.run(milliseconds: 300)
    let sent = loop.requests.count
    loop.drain(within: 1_000)
    loop.run(milliseconds: 100)
    #expect(loop.given != nil && loop.handedBack.count == 40 - sent)
  }

  @Test func `a stream that APNs never processed does not count`() {
    let loop = ScriptedLoop()
    loop.pace([(.app("app", .production), "100/s"), (.lane("bulk"), "100/s")])
    var count = 0
    loop.answer { _ in
      count += 1
      return count % 2 == 1 ? .refusedStream : .accepted(after: 0)
    }
    loop.produce(0..<3_000, lane: .bulk)
    loop.run(milliseconds: 21_000)
    let delivered = loop.count(.delivered)
    #expect((1_900...2_120).contains(delivered), "\(delivered)")
  }

  @Test func `what expires while it waits ends as expired, and uses up nothing`() {
    let loop = ScriptedLoop()
    loop.pace([(.app("app", .production), "10/s")])
    loop.produce(0..<300, lane: .bulk) { $0.expiresAt = $0.created + 2_000 }
    loop.produce(300..<400, lane: .bulk)
    loop.run(milliseconds: 20_000)
    #expect(loop.count(.expired) >= 270 && loop.delivered(300..<400))
  }
}
