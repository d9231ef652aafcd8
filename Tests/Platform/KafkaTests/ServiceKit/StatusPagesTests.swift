// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPClient
import Records
import ServiceKit
import Settings
import TestSupport
import Testing

/// The status pages as a client sees them, of a process that has hardly anything in it.
@Suite struct StatusPagesTests {
  private let context: ServiceContext
  private let server: StatusServer
  private let client = HTTPClient(timeoutMilliseconds: 30_000)

  init() throws {
    context = try .test("martlet-test")
    server = try StatusServer(Endpoint(host: "127.0.0.1", port: 0), context)
  }

  private func json(_ path: String) throws -> (status: Int, value: JSONValue) {
    let answer = try client.get(server.url + path)
    return (answer.status, try JSONDocument(answer.text).root)
  }

  private func reasons() throws -> (status: Int, reasons: [String]) {
    let answer = try json("/readyz")
    return (
      answer.status, answer.value["reasons"]?.array?.compactMap { $0["reason"]?.string } ?? []
    )
  }

  @Test func `ready is who has reported it, and has no obstacle`() throws {
    #expect(try reasons() == (503, ["is starting"]))
    context.reportReady()
    #expect(try reasons() == (200, []))
    context.status.set("partitions", obstacle: "has no partitions")
    context.status.set("provider-tokens", obstacle: "no provider token for credential A")
    context.status.set("provider-tokens", obstacle: "no provider token for credential B")
    #expect(try reasons() == (503, ["has no partitions", "no provider token for credential B"]))
    context.status.set("partitions", obstacle: nil)
    context.status.set("provider-tokens", obstacle: nil)
    #expect(try reasons() == (200, []))
    context.signals.requestStop()
    #expect(try reasons() == (503, ["is stopping"]))
  }

  @Test func `the address that is logged is one that a client can use, an IPv6 one too`() throws {
    // Not every machine has IPv6; where it is there, the server must listen on it.
    let addresses = (try? File.read("/proc/net/if_inet6")) ?? []
    let loopback = "\(String(repeating: "0", count: 31))1 "
    guard String(decoding: addresses, as: UTF8.self).contains(loopback) else { return }
    let six = try StatusServer(Endpoint(host: "::1", port: 0), context)
    #expect(six.url.hasPrefix("http://[::1]:"))
    let answer = try withExtendedLifetime(six) { try client.get(six.url + "/version") }
    #expect(answer.status == 200)
  }

  @Test func `a thread that does not turn makes the process unhealthy, until it does`() throws {
    let heartbeat = context.status.heartbeat("loop-7")
    #expect(try json("/healthz").status == 200)
    let now = MonotonicClock.milliseconds()
    heartbeat.beat(now - StatusBoard.patience - 5_000)
    let answer = try json("/healthz")
    #expect(answer.status == 503)
    #expect(answer.value["threads"]?.array?.first?["thread"]?.string == "loop-7")
    #expect((answer.value["threads"]?.array?.first?["seconds_since_last_turn"]?.int ?? 0) >= 65)
    heartbeat.beat(MonotonicClock.milliseconds())
    #expect(try json("/healthz").status == 200)
    heartbeat.beat(now - StatusBoard.patience - 5_000)
    context.status.end(heartbeat)
    #expect(try json("/healthz").status == 200)
  }

  @Test func `the version and the state of the process are JSON`() throws {
    let version = try json("/version").value
    #expect(version["program"]?.string == "martlet-test")
    #expect(version["version"]?.string == Version.text)
    #expect(version["commit"]?.string == Version.commit)
    // Those that this test's program has loaded.
    let libraries = version["libraries"]?.object?.keys ?? []
    #expect(libraries.starts(with: ["librdkafka", "OpenSSL"]) && libraries.contains("simdjson"))
    for name in libraries {
      let text = version["libraries"]?[name]?.string ?? ""
      #expect(text.wholeMatch(of: #/\d+\.\d+(\.\d+)*[a-z-]*/#) != nil, "\(name) \(text)")
    }
    context.status.show("loop-0") { ["in_flight": 3] }
    let state = try json("/debug/state").value
    #expect(state["loop-0"]?["in_flight"]?.int == 3)
    #expect(state["not_ready"]?.array?.first?.string == "is starting")
  }

  @Test func `the metrics say what the system knows of the process`() throws {
    let answer = try client.get(server.url + "/metrics")
    #expect(answer.status == 200)
    var values: [String: String] = [:]
    for line in answer.text.split(separator: "\n") where !line.hasPrefix("#") {
      let parts = line.split(separator: " ")
      values[String(parts[0])] = String(parts[1])
    }
    #expect(
      values[
        "martlet_build_info{program=\"martlet-test\",version=\"\(Version.text)\",commit=\"\(Version.commit)\"}"
      ]
        == "1")
    #expect(values["martlet_ready"] == "0")
    #expect((Double(values["process_resident_memory_bytes"] ?? "") ?? 0) > 1_000_000)
    #expect((Double(values["process_cpu_seconds_total"] ?? "") ?? 0) > 0)
    #expect((Double(values["process_open_fds"] ?? "") ?? 0) >= 4)
    let started = Double(values["process_start_time_seconds"] ?? "") ?? 0
    let age = Double(WallClock.seconds()) - started
    #expect(age >= -1 && age < 86_400, "\(age) s")
  }

  @Test func `a request for no page is refused, whatever it is`() throws {
    #expect(try client.get(server.url + "/").status == 404)
    #expect(try client.get(server.url + "/metrics/x").status == 404)
    #expect(try client.post(server.url + "/metrics").status == 405)
    #expect(
      try client.put(server.url + "/metrics", [UInt8](repeating: 65, count: 100_000)).status >= 400)
    #expect(try client.get(server.url + "/version").status == 200)
  }

  @Test func `clients that send slowly, or read nothing, do not block others`() throws {
    // More than a socket's buffers take.
    let text = String(repeating: "x", count: 8 << 20)
    context.status.show("large") { .string(text) }
    let port = try #require(UInt16(server.url.split(separator: ":").last ?? ""))
    var open: [Int32] = []
    defer { for socket in open { close(socket) } }
    for number in 0..<200 {
      let socket = try #require(Self.connected(port))
      open.append(socket)
      let request = number < 20 ? "GET /debug/state HTTP/1.1\r\nHost: a\r\n\r\n" : "GET /met"
      _ = send(socket, request, request.utf8.count, Int32(MSG_NOSIGNAL))
    }
    for _ in 0..<5 { #expect(try client.get(server.url + "/version").status == 200) }
    #expect(try client.get(server.url + "/metrics").status == 200)
  }

  private static func connected(_ port: UInt16) -> Int32? {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(INADDR_LOOPBACK).bigEndian
    address.sin_port = port.bigEndian
    let socket = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(socket, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    return status == 0 ? socket : nil
  }
}
