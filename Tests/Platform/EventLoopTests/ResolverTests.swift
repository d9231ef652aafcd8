// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Testing

@Suite struct ResolverTests {
  @Test func `localhost resolves to a loopback address with the port`() throws {
    let answer = try resolve("localhost")
    let addresses = try answer.result.get()
    #expect(answer.request == 42)
    #expect(addresses.contains { $0.host == "127.0.0.1" || $0.host == "::1" })
    #expect(addresses.allSatisfy { $0.port == 2_197 })
  }

  @Test func `a numeric address needs no name server`() throws {
    #expect(
      try resolve("192.0.2.7").result.get() == [SocketAddress(numeric: "192.0.2.7", port: 2_197)])
  }

  @Test func `a name that cannot exist is a failure that names it`() throws {
    let answer = try resolve("no-such-host.invalid")
    guard case .failure(let failure) = answer.result else {
      return #expect(Bool(false), ".invalid must not resolve (RFC 6761)")
    }
    #expect(failure.description.hasPrefix("cannot resolve no-such-host.invalid: "))
  }

  private func resolve(_ host: String) throws -> Resolution {
    let answers = Mailbox<Resolution>(wakeup: Wakeup())
    let resolver = try Resolver(answers: answers)
    resolver.resolve(host, port: 2_197, number: 42, seed: 1)
    let poller = try Poller()
    try poller.add(answers.wakeup.fd, token: 0, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    return try #require(answers.drain().first)
  }
}
