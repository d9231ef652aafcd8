// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Settings
import Telemetry
import Testing

@testable import ServiceKit

private enum SampleCounter: Int, MetricTable {
  case taken, inFlight

  var row: MetricRow {
    switch self {
    case .taken: .line(.total)
    case .inFlight: .gauge("m_in_flight", "In flight.")
    }
  }
}

@Suite struct CountersTests {
  @Test func `the board adds the loops' numbers of the same name`() {
    let board = CounterBoard()
    let (a, b) = (Counters<SampleCounter>(), Counters<SampleCounter>())
    board.add(a)
    board.add(b)
    a.add(.taken, 3)
    b.add(.taken)
    b.set(.inFlight, 9)
    let sums = board.sums
    #expect(sums.map(\.name) == ["taken", "in_flight"])
    #expect(sums.map(\.value) == [4, 9])
    #expect(sums.map(\.kind) == [.total, .gauge])
    #expect(a[.taken] == 3)
    #expect(
      MetricText.page(board.samples).hasSuffix("\nm_in_flight 9\n"), "taken is not shown there")
  }

  @Test func `a reader sees a growing number while its thread writes`() throws {
    let counters = Counters<SampleCounter>()
    let thread = try LoopThread(name: "writer") {
      for _ in 0..<100_000 { counters.add(.taken) }
    }
    var last = 0
    while last < 100_000 {
      let now = counters[.taken]
      #expect(now >= last)
      last = now
    }
    thread.join()
    #expect(counters[.taken] == 100_000)
  }
}

@Suite struct ServiceSignalsTests {
  @Test func `a stop request wakes every subscriber, also a late one`() throws {
    let signals = ServiceSignals()
    let wakeup = Wakeup()
    signals.subscribe(wakeup)
    #expect(!signals.isStopping)
    signals.requestStop()
    #expect(signals.isStopping)
    let late = Wakeup()
    signals.subscribe(late)
    let poller = try Poller(capacity: 4)
    try poller.add(wakeup.fd, token: 1, .readable)
    try poller.add(late.fd, token: 2, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 0, into: &events)
    #expect(Set(events.map(\.token)) == [1, 2])
  }

  @Test func `a second stop request wakes every subscriber again`() {
    let signals = ServiceSignals()
    signals.requestStop()
    #expect(!signals.isFastShutdown)
    let wakeup = Wakeup()
    signals.subscribe(wakeup)
    wakeup.clear()
    signals.requestFastShutdown()
    #expect(signals.isFastShutdown && signals.isStopping)
  }

  @Test func `a reload is taken once`() {
    let signals = ServiceSignals()
    #expect(!signals.consumeReload())
    signals.requestReload()
    #expect(signals.consumeReload())
    #expect(!signals.consumeReload())
  }

  @Test func `waiting for a stop returns when another thread asks for it`() throws {
    let signals = ServiceSignals()
    let thread = try LoopThread(name: "stopper") { signals.requestStop() }
    signals.waitForStop()
    thread.join()
    #expect(signals.isStopping)
  }
}
