// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewaySimulator
import HTTP2
import Records

@testable import Crypto
@testable import OperatorCommand
@testable import Sender

extension FuzzTarget {
  /// Bodies of APNs' answers and the debug data of GOAWAY. The first two bytes of the input are the status.
  static func answer() -> FuzzTarget {
    let parser = JSONParser()
    return FuzzTarget("answer") { bytes in
      let status = bytes.prefix(2).reduce(UInt16(0)) { $0 << 8 | UInt16($1) }
      let body = UnsafeRawBufferPointer(rebasing: bytes.dropFirst(2))
      let id = AnswerID.allCases[Int(status) % AnswerID.allCases.count]
      let answer = GatewayAnswer(status: status, id: id, body: body, parser: parser)
      let response = answer.response
      if let reason = response.reason, reason.name != answer.reasonText { return "another reason" }
      let isDelivered = response.verdict == .delivered
      if isDelivered != (status == 200 && id != .none) {
        return "\(status) and \(response.verdict)"
      }
      if answer.reasonText.isEmpty || id == .none, !isDelivered, !response.isForeign {
        return "evidence without an id or a reason"
      }
      if !answer.excerpt.utf8.allSatisfy({ (32..<127).contains($0) }) { return "not printable" }
      if response.verdict(for: .channel) == .rejected(aboutToken: true) {
        return "a broadcast's answer blames a device token"
      }
      if ChannelAdvice.text(response).isEmpty { return "no advice" }
      let text = GoAwayReason(Array(body), parser: parser).text
      return text.utf8.allSatisfy { (32..<127).contains($0) }
        ? nil : "GOAWAY's text is not printable"
    }
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
          pool.drainReady(into: &ready)
          for request in ready {
            server.respond(request, headers, body: UnsafeRawBufferPointer(start: nil, count: 0))
          }
          while try server.produceOutput(into: &output, upTo: 16_384) { output.removeAll() }
        } catch {
          try Violation.unless(!"\(error)".isEmpty, "a failure without words")
        }
        _ = server.drainNotices()
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
