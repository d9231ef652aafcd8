// SPDX-License-Identifier: Apache-2.0
import Contract
import Testing

@testable import HTTP

@Suite struct BrowserGuardTests {
  private func status(
    _ guarding: BrowserGuard, host: String, method: String = "GET", _ fields: String = ""
  ) throws -> Int {
    let text = "\(method) / HTTP/1.1\r\nHost: \(host)\r\n\(fields)\r\n"
    let head = try RequestHead(Array(text.utf8).span)
    return guarding.problem(head)?.status ?? 200
  }

  private let local = BrowserGuard.local(
    listen: "127.0.0.1", others: ["status.example.com", "*.x.org"])

  @Test
  func `addresses, loopback names and those of a setting are answered, others are not`() throws {
    for host in [
      "localhost", "LOCALHOST:9000", "a.localhost", "127.0.0.1:80", "[::1]:80", "10.0.0.7",
      "status.example.com", "Status.Example.com:1", "a.x.org", "a.b.x.org",
    ] {
      #expect(try status(local, host: host) == 200, "\(host)")
    }
    for host in [
      "evil", "evil.example", "x.org", "ax.org", "localhost.evil.com", "127.0.0.1.evil.com",
      "1.2.3.4.5", "1.2.3.400", "status.example.com.evil.org", "127.0.0.1.nip.io",
    ] {
      #expect(try status(local, host: host) == 421, "\(host)")
    }
    let open = BrowserGuard.local(listen: "0.0.0.0", others: [])
    #expect(try status(open, host: "sender:9000") == 200)
    #expect(try status(open, host: "evil.example:9000") == 421)
    #expect(try status(.anyHost, host: "evil.example") == 200)
  }

  @Test func `a page of another site changes nothing`() throws {
    for method in ["POST", "PUT", "DELETE"] {
      func status(_ fields: String) throws -> Int {
        try self.status(local, host: "127.0.0.1:80", method: method, fields)
      }
      #expect(try status("") == 200)
      #expect(try status("Origin: http://127.0.0.1:80\r\n") == 200)
      #expect(try status("Sec-Fetch-Site: same-origin\r\n") == 200)
      #expect(try status("Origin: http://127.0.0.1:81\r\n") == 403)
      #expect(try status("Origin: https://evil.example\r\n") == 403)
      #expect(try status("Origin: null\r\n") == 403)
      #expect(try status("Origin:\r\n") == 403)
      #expect(try status("Sec-Fetch-Site: cross-site\r\n") == 403)
      #expect(try status("Sec-Fetch-Site: same-site\r\n") == 403)
    }
    #expect(try status(local, host: "127.0.0.1:80", "Origin: https://evil.example\r\n") == 200)
  }
}

@Suite struct OpenClientsTests {
  private let here: [UInt8] = [127, 0, 0, 1]
  private let there: [UInt8] = [10, 0, 0, 1]

  @Test func `at the limit the oldest guest leaves, of the address with the most`() {
    var clients = OpenClients(limit: 8)
    for id in 1...3 { #expect(clients.enter(id, from: there, now: 0) == .enters) }
    for id in 4...8 { #expect(clients.enter(id, from: here, now: 0) == .enters) }
    #expect(clients.enter(9, from: there, now: 0) == .replaces(4))
    #expect(clients.enter(10, from: there, now: 0) == .replaces(1), "four each: the oldest of all")
    #expect(clients.count == 8)
  }

  @Test func `no newcomer ends an accepted request`() {
    var clients = OpenClients(limit: 8)
    _ = clients.enter(1, from: here, now: 0)
    #expect(clients.accept(1, owner: "shop", now: 0) == .enters)
    for id in 2...2_000 { #expect(clients.enter(id, from: here, now: 9_999_999) != .replaces(1)) }
    clients.answered(1, now: 10)
    #expect(clients.count == 8)
    // Now it is a guest, the youngest.
    #expect((2_001...2_007).allSatisfy { clients.enter($0, from: here, now: 20) != .replaces(1) })
    #expect(clients.enter(2_008, from: here, now: 20) == .replaces(1))
  }

  @Test
  func `accepted requests leave a reserve; beyond it a silent one of an owner with as many leaves`()
  {
    var clients = OpenClients(limit: 8)
    for id in 1...7 {
      _ = clients.enter(id, from: here, now: 0)
      #expect(clients.accept(id, owner: id < 7 ? "many" : "few", now: 0) == .enters)
    }
    _ = clients.enter(8, from: here, now: 0)
    #expect(clients.accept(8, owner: "few", now: OpenClients.silence - 1) == .refused)
    clients.heard(1, at: 100)
    clients.heard(2, at: nil)
    #expect(clients.accept(8, owner: "few", now: OpenClients.silence) == .replaces(3))
    _ = clients.enter(9, from: here, now: 0)
    // Of those with fewer none leaves for one with more.
    for id in 1...6 { clients.heard(id, at: 5_000) }
    #expect(clients.accept(9, owner: "many", now: 5_100) == .refused)
    #expect(clients.accept(99, owner: "many", now: 5_100) == .refused)
  }

  @Test func `without guests a newcomer is refused`() {
    var clients = OpenClients(limit: 8)
    for id in 1...7 {
      _ = clients.enter(id, from: here, now: 0)
      _ = clients.accept(id, owner: "a", now: 0)
    }
    #expect(clients.enter(8, from: here, now: 0) == .enters)
    #expect(clients.enter(9, from: here, now: 0) == .replaces(8))
    clients.left(1)
    #expect(clients.enter(10, from: here, now: 0) == .enters)
  }
}
