// SPDX-License-Identifier: Apache-2.0
import Glibc
import Testing

@testable import EventLoop

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

  @Test func `a look-up that the system refuses says what the system says`() {
    let failure = ResolutionFailure(host: "api.push.apple.com", code: EAI_SYSTEM, errno: EMFILE)
    #expect(failure.description == "cannot resolve api.push.apple.com: Too many open files")
  }

  @Test func `requests that wait together share a look-up, each with an order of its own`() {
    var lookUps = SharedLookUps()
    var asked: [String] = []
    func addresses(
      _ host: String, port: UInt16 = 443, seed: UInt64
    ) -> Result<[SocketAddress], ResolutionFailure> {
      lookUps.addresses(of: host, port: port, seed: seed) {
        asked.append("\(host):\(port)")
        guard host == "a" else { return .failure(ResolutionFailure(host: host, reason: "none")) }
        return .success((1...8).compactMap { SocketAddress(numeric: "192.0.2.\($0)", port: port) })
      }
    }
    let orders = (0..<100 as Range<UInt64>).compactMap {
      try? addresses("a", seed: $0).get().map(\.host)
    }
    #expect(orders.count == 100 && orders.allSatisfy { $0.sorted() == orders[0].sorted() })
    #expect(Set(orders.map { $0[0] }).count == 8, "connections spread over the hosts")
    _ = addresses("a", port: 2_197, seed: 0)
    let failures = (0..<3 as Range<UInt64>).filter { (try? addresses("b", seed: $0).get()) == nil }
    #expect(failures == [0, 1, 2])
    #expect(asked == ["a:443", "a:2197", "b:443"])
  }

  @Test func `a hosts file that cannot be read does not send connections elsewhere`() throws {
    let answer = try resolve("localhost", hostsFile: "/nonexistent/hosts")
    guard case .failure(let failure) = answer.result else {
      return #expect(Bool(false), "the system is not asked for what the file may say")
    }
    #expect(
      failure.description.hasPrefix("cannot resolve localhost: cannot open /nonexistent/hosts: "))
    let numeric = try resolve("192.0.2.7", hostsFile: "/nonexistent/hosts")
    #expect(try numeric.result.get().count == 1)
  }

  private func resolve(_ host: String, hostsFile: String? = nil) throws -> Resolution {
    let answers = Mailbox<Resolution>(wakeup: Wakeup())
    let resolver = try Resolver(answers: answers, hostsFile: hostsFile)
    resolver.resolve(host, port: 2_197, number: 42, seed: 1)
    let poller = try Poller()
    try poller.add(answers.wakeup.fd, token: 0, .readable)
    var events: [ReadyEvent] = []
    poller.wait(timeoutMilliseconds: 30_000, into: &events)
    return try #require(answers.drain().first)
  }
}
