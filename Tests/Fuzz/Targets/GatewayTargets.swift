// SPDX-License-Identifier: Apache-2.0
import APNS
import Bytes
import HTTP2
import HTTP2Server
import JSON
import Records

@testable import OperatorCommand
@testable import Sender
@testable import TLS

extension FuzzTarget {
  /// Bodies of APNs' answers and the debug data of GOAWAY. The first two bytes of the input are the status.
  static func answer() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("answer") { bytes in
      let status = bytes.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      let body = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(2))
      let answer = GatewayAnswer(status: status, body: body, parser: parser)
      let response = answer.response
      if let reason = response.reason, reason.name != answer.reasonText { return "another reason" }
      if status == 200 && response.verdict != .delivered { return "200 and not delivered" }
      if status != 200 && response.verdict == .delivered { return "\(status) and delivered" }
      if response.verdict(for: .channel) == .rejected(aboutToken: true) {
        return "a broadcast's answer blames a device token"
      }
      if ChannelAdvice.text(response).isEmpty { return "no advice" }
      let text = GoAwayReason(Array(body), parser: parser).text
      return text.utf8.allSatisfy { (32..<127).contains($0) }
        ? nil : "GOAWAY's text is not printable"
    }
  }

  /// What a peer that calls itself APNs may send: every request ends exactly once, whatever it is.
  static func clientSession() -> FuzzTarget {
    FuzzTarget(
      "client-session",
      checking: { bytes throws(Violation) in
        let client = HTTP2ClientSession()
        let exchanges = Exchanges(2)
        var sent = 0
        var output = ByteBuffer()
        var isAlive = true
        var done: [UnsafeMutablePointer<Exchange>] = []
        var completed = 0
        func collect() {
          client.takeCompleted(into: &done)
          completed += done.count
          for exchange in done where exchange.pointee.fate == .pending { completed += 100 }
        }
        // The input's first byte says in which pieces it comes.
        let piece = max(1, Int(bytes.first ?? 0))
        var rest = UnsafeRawBufferPointer(rebasing: bytes.dropFirst())
        repeat {
          if sent < exchanges.count, client.submit(exchanges.headers, exchanges[sent]) { sent += 1 }
          do throws(ConnectionFailure) {
            output.removeAll()
            while try client.produceOutput(into: &output, upTo: 16_384) { output.removeAll() }
            try client.receive(UnsafeRawBufferPointer(rebasing: rest.prefix(piece)))
          } catch {
            isAlive = false
          }
          rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(piece))
          collect()
          _ = client.takeNotices()
        } while isAlive && !rest.isEmpty
        client.abandon()
        collect()
        try Violation.unless(completed == sent, "\(sent) requests ended \(completed) times")
        try Violation.unless(client.openStreams == 0, "streams stay open")
      })
  }

  /// What a client may send to the simulator.
  static func serverSession() -> FuzzTarget {
    FuzzTarget(
      "server-session",
      checking: { bytes throws(Violation) in
        let pool = ServerRequestPool()
        let server = HTTP2ServerSession(
          settings: .gateway(maxConcurrentStreams: 4), pool: pool, token: 1)
        var ready: [UnsafeMutablePointer<ServerRequest>] = []
        var output = ByteBuffer()
        var headers = HeaderList()
        headers.append(":status", "200")
        do throws(ConnectionFailure) {
          try server.receive(bytes)
          pool.takeReady(into: &ready)
          for request in ready {
            server.respond(request, headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
          }
          while try server.produceOutput(into: &output, upTo: 16_384) { output.removeAll() }
        } catch {
          try Violation.unless(!"\(error)".isEmpty, "a failure without words")
        }
        _ = server.takeNotices()
        server.abandon()
        try Violation.unless(server.openStreams >= 0, "fewer than no streams")
      })
  }

  /// Push certificates: PEM as a whole, and the topics' extension by itself.
  static func certificate() -> FuzzTarget {
    FuzzTarget("certificate") { bytes in
      let topics = TopicList.read(Array(bytes))
      // Each topic takes at least its tag and its length.
      if topics.count > bytes.count / 2 { return "more topics than there is room for" }
      guard let certificate = try? PushCertificate(pem: Array(bytes)) else { return nil }
      if certificate.fingerprint.utf8.count != 64 { return "a fingerprint of another length" }
      if !certificate.servesSandbox && !certificate.servesProduction {
        return "a certificate for no environment"
      }
      return Set(certificate.topics).count >= (certificate.topics.isEmpty ? 0 : 1)
        ? nil : "topics without names"
    }
  }
}

/// Requests in memory that stays in place.
private final class Exchanges {
  private let memory: UnsafeMutablePointer<Exchange>
  private let answers: UnsafeMutablePointer<UInt8>
  let count: Int
  private(set) var headers = HeaderList()

  private static let room = 64

  init(_ count: Int) {
    self.count = count
    memory = .allocate(capacity: count)
    answers = .allocate(capacity: count * Self.room)
    for index in 0..<count {
      (memory + index).initialize(to: Exchange(owner: UInt32(index)))
      memory[index].response = answers + index * Self.room
      memory[index].responseCapacity = UInt16(Self.room)
    }
    headers.append(":method", "POST")
    headers.append(":scheme", "https")
    headers.append(":authority", "localhost")
    headers.append(":path", "/3/device/00")
  }

  deinit {
    answers.deallocate()
    memory.deallocate()
  }

  subscript(index: Int) -> UnsafeMutablePointer<Exchange> { memory + index }
}
