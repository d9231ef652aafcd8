// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import Testing

/// Written to by the signal's handler: so it is ready only once the wait has been interrupted.
nonisolated(unsafe) private var pipeOfHandler: Int32 = -1

@Suite struct PollerTests {
  /// A process that was stopped for a while must read the answers that came meanwhile before it looks whose time is up.
  @Test func `what became ready while a signal ended the wait is seen at once`() throws {
    var ends: [Int32] = [0, 0]
    try #require(pipe(&ends) == 0)
    defer { for end in ends { close(end) } }
    pipeOfHandler = ends[1]
    var action = sigaction()
    action.__sigaction_handler.sa_handler = { _ in
      var byte: UInt8 = 1
      write(pipeOfHandler, &byte, 1)
    }
    try #require(sigaction(SIGUSR2, &action, nil) == 0)
    defer { signal(SIGUSR2, SIG_DFL) }
    // Threads of the pool have signals blocked.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGUSR2)
    pthread_sigmask(SIG_UNBLOCK, &signals, nil)
    defer { pthread_sigmask(SIG_BLOCK, &signals, nil) }
    let poller = try Poller(capacity: 4)
    try poller.add(ends[0], token: 7, .readable)
    let waiting = UInt(pthread_self())
    var sender = pthread_t()
    let argument = UnsafeMutableRawPointer(bitPattern: waiting)
    pthread_create(
      &sender, nil,
      { thread in
        usleep(50_000)
        pthread_kill(pthread_t(UInt(bitPattern: thread)), SIGUSR2)
        return nil
      }, argument)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    pthread_join(sender, nil)
    #expect(events.map(\.token) == [7])
  }
}
