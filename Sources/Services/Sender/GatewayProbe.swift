// SPDX-License-Identifier: Apache-2.0
import Diagnosis
import Dispatch
import EventLoop
import Glibc
import HTTP2
import JSON
import Records
import Settings
import TLS

/// One request to a gateway, on the way and with the TLS that the sender's pushes use, that carries neither a provider
/// token nor a payload: APNs answers it with a reason, and nothing is delivered. Blocks the calling thread.
struct GatewayProbe {
  /// What is learnt beside the outcome.
  struct Result {
    var facts: GatewayFacts
    /// Seconds that this machine is ahead of the answer's `date`; nil without one.
    var secondsAhead: Int64?
  }

  private let settings: SenderSettings
  private let kind: GatewayKind
  private let tls: TLSContext
  /// The file of the certificate that is shown.
  private let certificate: String?
  private let deadline: UInt64

  private var gateway: Endpoint { settings.gateway(kind) }

  /// - Parameter certificate: the file of the client certificate that `tls` shows; nil without one.
  static func run(
    _ settings: SenderSettings, _ kind: GatewayKind, _ tls: TLSContext, certificate: String? = nil
  ) -> Result {
    GatewayProbe(
      settings: settings, kind: kind, tls: tls, certificate: certificate,
      deadline: MonotonicClock.milliseconds() + UInt64(settings.connectTimeoutMilliseconds)
    ).run()
  }

  private func run() -> Result {
    var result = Result(
      facts: GatewayFacts(
        environment: kind.environment, address: gateway.description, host: gateway.host,
        proxy: settings.proxy?.endpoint.description, certificate: certificate, outcome: .silent))
    do {
      for address in try addresses().prefix(3) {
        let (outcome, ahead) = try ask(address)
        (result.facts.outcome, result.secondsAhead) = (outcome, ahead)
        // Another address may be reachable.
        guard case .noConnection = outcome else { break }
      }
    } catch let failure as ResolutionFailure {
      result.facts.outcome = .unresolved("\(failure)")
    } catch let failure as NameServerSilence {
      result.facts.outcome = .unresolved(
        "cannot resolve \(failure.host): the name server does not answer")
    } catch {
      result.facts.outcome = .broken("\(error)")
    }
    return result
  }

  private func addresses() throws -> [SocketAddress] {
    let dialled = settings.proxy?.endpoint ?? gateway
    let answers = Mailbox<Resolution>(wakeup: Wakeup())
    let resolver = try Resolver(answers: answers, hostsFile: settings.gatewayHosts)
    resolver.resolve(
      dialled.host, port: dialled.port, number: 0, seed: MonotonicClock.nanoseconds())
    var descriptor = pollfd(fd: answers.wakeup.fd, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, Int32(clamping: settings.connectTimeoutMilliseconds))
    guard let answer = answers.drain().first else {
      throw NameServerSilence(host: dialled.host)
    }
    return try answer.result.get()
  }

  private func ask(_ address: SocketAddress) throws -> (GatewayFacts.Outcome, Int64?) {
    let request = ProbeRequest(
      authority: gateway.port == 443 ? gateway.host : gateway.description)
    let poller = try Poller(capacity: 4)
    let connection = try HTTP2ClientConnection(
      poller: poller, token: 1, tls: tls, serverName: settings.gatewayName ?? gateway.host,
      implementation: settings.http2)
    // A request without an answer is told of the connection's end.
    defer { withExtendedLifetime(request) { connection.close() } }
    connection.connect(
      to: address,
      through: settings.proxy.map {
        ProxyRequest(host: gateway.host, port: gateway.port, credentials: $0.credentials)
      })
    var events: [ReadyEvent] = []
    while MonotonicClock.milliseconds() < deadline {
      if !request.isSubmitted, connection.credit > 0 { request.submit(on: connection) }
      connection.flush()
      // An answer counts also if the connection has ended behind it.
      if let answer = request.answer {
        return (.answered(status: answer.status, reason: answer.reason), answer.secondsAhead)
      }
      if connection.isClosed { return (Self.outcome(connection.takeNotices()), nil) }
      poller.wait(timeoutMilliseconds: 50, into: &events)
      for event in events {
        connection.socketReady(
          readable: event.readable, writable: event.writable, hangup: event.hangup)
      }
    }
    return (.silent, nil)
  }

  /// How a connection without an answer ended.
  static func outcome(_ notices: [ConnectionNotice]) -> GatewayFacts.Outcome {
    var words: String?
    for notice in notices {
      switch notice {
      case .goAway(_, _, let debug):
        words = "the gateway closes the connection: \(String(decoding: debug, as: UTF8.self))"
      case .closed(.connect(let error)): return .noConnection("\(error)")
      case .closed(.timedOut?): return .silent
      case .closed(.proxy(let text)): return .proxy(text)
      case .closed(.tls(let error)) where error.kind == .certificate: return .untrusted("\(error)")
      case .closed(let failure?): words = words ?? "\(failure)"
      default: break
      }
    }
    return .broken(words ?? "the gateway closed the connection without an answer")
  }
}

/// No name server answered in time.
private struct NameServerSilence: Error {
  let host: String
}

/// The request's memory: header values and the exchange stay where they are until the answer.
private final class ProbeRequest {
  struct Answer {
    let status: Int
    let reason: String
    let secondsAhead: Int64?
  }

  private static let responseCapacity = 512

  private let exchange = UnsafeMutablePointer<Exchange>.allocate(capacity: 1)
  private let response = UnsafeMutablePointer<UInt8>.allocate(capacity: responseCapacity)
  private let date = UnsafeMutablePointer<UInt8>.allocate(capacity: HTTPDate.length)
  private let authority: UnsafeMutableRawBufferPointer
  private(set) var isSubmitted = false

  init(authority name: String) {
    authority = .allocate(byteCount: name.utf8.count, alignment: 1)
    authority.copyBytes(from: Array(name.utf8))
    exchange.initialize(to: Exchange())
    exchange.pointee.response = response
    exchange.pointee.responseCapacity = UInt16(Self.responseCapacity)
    exchange.pointee.date = date
  }

  deinit {
    exchange.deallocate()
    response.deallocate()
    date.deallocate()
    authority.deallocate()
  }

  func submit(on connection: HTTP2ClientConnection) {
    var headers = HeaderList()
    headers.append(":method", "POST" as StaticString)
    headers.append(":scheme", "https" as StaticString)
    headers.append(":authority", UnsafeRawBufferPointer(authority))
    // Sixty-four zeros: nobody's device.
    headers.append(
      ":path",
      "/3/device/0000000000000000000000000000000000000000000000000000000000000000" as StaticString)
    isSubmitted = connection.submit(headers, exchange)
  }

  /// nil while there is none.
  var answer: Answer? {
    guard exchange.pointee.status != 0, exchange.pointee.fate != .pending else { return nil }
    let status = exchange.pointee.status
    let answer = GatewayAnswer(
      status: status, body: exchange.pointee.responseBytes, parser: JSONParser())
    var ahead: Int64?
    if exchange.pointee.hasDate {
      let text = String(
        decoding: UnsafeBufferPointer(start: date, count: HTTPDate.length), as: UTF8.self)
      ahead = HTTPDate.seconds(text).map { WallClock.seconds() - $0 }
    }
    return Answer(status: Int(status), reason: answer.reasonText, secondsAhead: ahead)
  }
}
