// SPDX-License-Identifier: Apache-2.0
import CLinux
import Crypto
import EventLoop
import Glibc
import HTTP
import HTTP2

/// Measures the client's HTTP/2 leg alone: notifications from memory, over TLS, to a given server,
/// so many in flight. Compare with `h2load` against the same server.
///
///     benchmark-tool http2 HOST PORT ROOTS.pem [requests] [streams] [connections] [body bytes] [engine|nghttp2]
enum HTTP2Benchmark {
  /// - Parameter arguments: the subcommand, and what follows it.
  static func run(_ arguments: [String]) {
    func number(_ index: Int, _ standard: Int) -> Int {
      arguments.count > index ? Int(arguments[index]) ?? standard : standard
    }
    guard arguments.count >= 4, let port = UInt16(arguments[2]) else {
      fail(
        "usage: benchmark-tool http2 HOST PORT ROOTS.pem [requests] [streams] [connections] [body] [engine|nghttp2]"
      )
    }
    do {
      let load = try Load(
        address: SocketAddress(numeric: arguments[1], port: port) ?? .loopback(port: port),
        serverName: arguments[1], roots: arguments[3], requests: number(4, 1_000_000),
        streams: number(5, 1_000), connections: number(6, 1), bodyCount: number(7, 262),
        implementation: HTTP2Implementation(rawValue: arguments.count > 8 ? arguments[8] : "engine")
          ?? .engine)
      load.run()
    } catch {
      fail("\(error)")
    }
  }

  static func fail(_ message: String) -> Never {
    print(message)
    exit(1)
  }
}

/// The request of one slot: its own apns-id, and the exchange with room for an answer's body.
struct Slot {
  var exchange = Exchange()
  var identifier = InlineArray<36, UInt8>(repeating: UInt8(ascii: "0"))
  var response = InlineArray<256, UInt8>(repeating: 0)
}

final class Load {
  let poller: Poller
  var connections: [HTTP2ClientConnection] = []
  var free: [[Int]] = []
  let slots: UnsafeMutablePointer<Slot>
  let paths: [UnsafeRawBufferPointer]
  let body: UnsafeMutablePointer<UInt8>
  let token: UnsafeRawBufferPointer
  let authority: UnsafeRawBufferPointer
  let expiration = copy("1795000000")
  var headers = HeaderList()
  var sharedCount = 0
  let requests: Int
  let streams: Int
  var submitted = 0
  var done = 0
  var accepted = 0
  var started = [Bool]()
  var completed: [UnsafeMutablePointer<Exchange>] = []

  init(
    address: SocketAddress, serverName: String, roots: String, requests: Int, streams: Int,
    connections count: Int, bodyCount: Int, implementation: HTTP2Implementation
  ) throws {
    self.requests = requests
    self.streams = streams
    poller = try Poller()
    let tls = try TLSContext.client(roots: .file(roots))
    let scratch = ConnectionScratch()
    slots = .allocate(capacity: streams * count)
    slots.initialize(repeating: Slot(), count: streams * count)
    body = .allocate(capacity: max(bodyCount, 1))
    body.initialize(repeating: UInt8(ascii: "x"), count: bodyCount)
    paths = (0..<4_096).map { _ in
      var text = "/3/device/"
      for _ in 0..<64 { text += String(Int.random(in: 0..<16), radix: 16) }
      return copy(text)
    }
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
    token = copy("bearer " + String((0..<184).map { _ in letters.randomElement() ?? "A" }))
    authority = copy(serverName)
    for index in 0..<count {
      let connection = try HTTP2ClientConnection(
        poller: poller, token: UInt64(index), tls: tls, serverName: serverName,
        implementation: implementation, scratch: scratch)
      connection.connect(to: address)
      connections.append(connection)
      free.append(Array(index * streams..<(index + 1) * streams))
    }
    for index in 0..<streams * count {
      slots[index].exchange.owner = UInt32(index)
      slots[index].exchange.body = UnsafePointer(body)
      slots[index].exchange.bodyCount = UInt32(bodyCount)
    }
    started = Array(repeating: false, count: count)
    headers.append(.path, paths[0], .never)
    headers.append(":method", "POST")
    headers.append(":scheme", "https")
    headers.append(":authority", authority)
    headers.append("authorization", token)
    headers.append("apns-topic", "com.example.app")
    headers.append("apns-push-type", "alert")
    headers.append("apns-priority", "10")
    headers.share(as: 1)
    sharedCount = headers.count
  }

  func run() {
    let cpuBefore = cpu()
    let before = MonotonicClock.nanoseconds()
    var events: [ReadyEvent] = []
    while done < requests {
      poller.wait(timeoutMilliseconds: 1_000, into: &events)
      for event in events {
        let index = Int(event.token)
        connections[index].socketReady(
          readable: event.readable, writable: event.writable, hangup: event.hangup)
        turn(connections[index], index)
      }
    }
    let seconds = Double(MonotonicClock.nanoseconds() - before) / 1e9
    let microseconds = cpu() - cpuBefore
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    print(
      """
      {"requests":\(done),"accepted":\(accepted),"requests_per_second":\(Double(done) / seconds),\
      "cpu_us_per_request":\(microseconds / Double(done)),\
      "resident_mib":\(Double(usage.ru_maxrss) / 1_024)}
      """)
  }

  func turn(_ connection: HTTP2ClientConnection, _ index: Int) {
    connection.drainCompleted(into: &completed)
    for exchange in completed {
      done += 1
      if exchange.pointee.status == 200 { accepted += 1 }
      free[index].append(Int(exchange.pointee.owner))
    }
    if !started[index] || connection.isClosed {
      for notice in connection.drainNotices() {
        if case .closed(let failure) = notice {
          HTTP2Benchmark.fail("closed: \(String(describing: failure))")
        }
        if case .settings = notice { started[index] = true }
      }
    }
    var credit = started[index] ? min(connection.credit, requests - submitted) : 0
    while credit > 0, let slot = free[index].popLast() {
      guard send(connection, slots + slot) else {
        free[index].append(slot)
        break
      }
      credit -= 1
    }
    connection.flush()
  }

  func send(_ connection: HTTP2ClientConnection, _ slot: UnsafeMutablePointer<Slot>) -> Bool {
    var number = submitted
    for digit in 0..<12 {
      slot.pointee.identifier[35 - digit] = UInt8(ascii: "0") + UInt8(number % 10)
      number /= 10
    }
    for dash in [8, 13, 18, 23] { slot.pointee.identifier[dash] = UInt8(ascii: "-") }
    let raw = UnsafeMutableRawPointer(slot)
    let identifier = UnsafeRawBufferPointer(
      start: raw + (MemoryLayout<Slot>.offset(of: \Slot.identifier) ?? 0), count: 36)
    let exchange = raw.assumingMemoryBound(to: Exchange.self)
    exchange.pointee.response = (raw + (MemoryLayout<Slot>.offset(of: \Slot.response) ?? 0))
      .assumingMemoryBound(to: UInt8.self)
    exchange.pointee.responseCapacity = 256
    headers.removeAll(keeping: sharedCount)
    headers.replaceFirst(paths[submitted & 4_095])
    headers.append(.apnsExpiration, expiration, .allowed)
    headers.append(.apnsID, identifier, submitted == 0 ? .allowed : .never)
    guard connection.submit(headers, exchange) else { return false }
    submitted += 1
    return true
  }

  /// User and system time of the process so far, in µs.
  func cpu() -> Double {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    func microseconds(_ time: timeval) -> Double {
      Double(time.tv_sec) * 1e6 + Double(time.tv_usec)
    }
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime)
  }
}

func copy(_ text: String) -> UnsafeRawBufferPointer {
  let bytes = UnsafeMutableRawBufferPointer.allocate(byteCount: text.utf8.count, alignment: 1)
  bytes.copyBytes(from: text.utf8)
  return UnsafeRawBufferPointer(bytes)
}
