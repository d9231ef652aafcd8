// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import EventLoop

@Suite struct WakeupTests {
  @Test func `a signal makes the poller return with the token until it is cleared`() throws {
    let poller = try Poller()
    let wakeup = Wakeup()
    try poller.add(wakeup.fd, token: 7, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 0, into: &events)
    #expect(events.isEmpty)
    wakeup.signal()
    wakeup.signal()
    poller.wait(timeoutMilliseconds: 0, into: &events)
    #expect(events == [ReadyEvent(token: 7, readable: true, writable: false, hangup: false)])
    wakeup.clear()
    poller.wait(timeoutMilliseconds: 0, into: &events)
    #expect(events.isEmpty)
  }

  @Test func `signals of sources say which ones and are taken once`() throws {
    let poller = try Poller()
    let signals = SourceSignals()
    try poller.add(signals.fd, token: 7, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 0, into: &events)
    #expect(events.isEmpty)
    let thread = try LoopThread(name: "sources") {
      for number in 0..<1_000 as Range<UInt32> { signals.signal(number * 3) }
    }
    thread.join()
    // More than one read takes: what is left keeps the descriptor readable.
    var taken: [UInt32] = []
    repeat {
      poller.wait(timeoutMilliseconds: 0, into: &events)
      if !events.isEmpty { signals.take { taken.append($0) } }
    } while !events.isEmpty
    #expect(taken == (0..<1_000).map { $0 * 3 })
  }

  @Test func `signals that are not received never block a source`() {
    let signals = SourceSignals()
    for _ in 0..<100_000 { signals.signal(5) }
    var count = 0
    var before = -1
    while count > before {
      before = count
      signals.take { if $0 == 5 { count += 1 } }
    }
    #expect(count > 1_000 && count < 100_000)
  }

  @Test func `a mailbox hands messages over in order from another thread`() throws {
    let mailbox = Mailbox<Int>(wakeup: Wakeup())
    let thread = try LoopThread(name: "a name longer than fifteen bytes") {
      for number in 0..<1_000 { mailbox.post(number) }
    }
    let poller = try Poller()
    try poller.add(mailbox.wakeup.fd, token: 1, .readable)
    var events: [ReadyEvent] = []
    var received: [Int] = []
    while received.count < 1_000 {
      poller.wait(timeoutMilliseconds: 30_000, into: &events)
      try #require(!events.isEmpty)
      mailbox.wakeup.clear()
      received += mailbox.drain()
    }
    thread.join()
    #expect(received == Array(0..<1_000))
  }

  @Test func `a removed descriptor is no longer reported`() throws {
    let poller = try Poller()
    let wakeup = Wakeup()
    try poller.add(wakeup.fd, token: 1, .readable)
    wakeup.signal()
    poller.remove(wakeup.fd)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 0, into: &events)
    #expect(events.isEmpty)
  }

  @Test func `the monotonic clock never goes back`() {
    var last = MonotonicClock.nanoseconds()
    for _ in 0..<10_000 {
      let now = MonotonicClock.nanoseconds()
      #expect(now >= last)
      last = now
    }
    #expect(WallClock.milliseconds() > 1_700_000_000_000)
  }

  @Test func `a signal arrives through its descriptor instead of ending the thread`() throws {
    let source = try SignalSource([SIGUSR2])
    #expect(source.next() == nil)
    // To this thread only: other threads of the test process do not block it.
    pthread_kill(pthread_self(), SIGUSR2)
    #expect(source.next() == SIGUSR2)
    #expect(source.next() == nil)
  }
}
