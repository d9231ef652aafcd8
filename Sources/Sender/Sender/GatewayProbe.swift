// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Glibc
import HTTP
import HTTP2
import Records
import SenderDecisions
import ServiceKit
import Settings
import Waiting

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
  /// What connections are made with: as the sender's, and with a small ClientHello.
  private let tls: (usual: TLSContext, small: TLSContext)
  /// The file of the certificate that is shown.
  private let certificate: String?
  private let deadline: UInt64
  /// How long an answer to a small ClientHello is waited for, in milliseconds.
  private static let patience: UInt64 = 3_000

  private var gateway: Endpoint { settings.gateway(kind) }

  /// - Parameters:
  ///   - tls: as the sender's connections have it, and with a small ClientHello.
  ///   - certificate: the file of the client certificate that `tls` shows; nil without one.
  static func run(
    _ settings: SenderSettings, _ kind: GatewayKind, _ tls: (TLSContext, TLSContext),
    certificate: String? = nil
  ) -> Result {
    GatewayProbe(
      settings: settings, kind: kind, tls: tls, certificate: certificate,
      deadline: MonotonicClock.milliseconds() + settings.fixed.connectTimeout
    ).run()
  }

  private func run() -> Result {
    var result = Result(
      facts: GatewayFacts(
        environment: kind.environment, address: gateway.description, host: gateway.host,
        proxy: settings.proxy?.endpoint.description, certificate: certificate, outcome: .silent))
    do {
      try ask(addresses(), &result)
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
    poll(&descriptor, 1, Int32(clamping: settings.fixed.connectTimeout))
    guard let answer = answers.drain().first else {
      throw NameServerSilence(host: dialled.host)
    }
    return try answer.result.get()
  }

  /// Asks one address after the other until one takes the connection; each has its share of the time that is left.
  private func ask(_ addresses: [SocketAddress], _ result: inout Result) throws {
    for (index, address) in addresses.enumerated() {
      let now = MonotonicClock.milliseconds()
      let share = (max(deadline, now) - now) / UInt64(addresses.count - index)
      try ask(address, tls.usual, until: now + share, &result)
      switch result.facts.outcome {
      case .noConnection: continue
      case .noServerHello(let bytes, _):
        var other = result
        try ask(
          address, tls.small, until: MonotonicClock.milliseconds() + Self.patience, &other)
        if case .noServerHello = other.facts.outcome { continue }
        result.facts.outcome = .noServerHello(bytes: bytes, answersSmall: true)
        return
      default: return
      }
    }
  }

  private func ask(
    _ address: SocketAddress, _ tls: TLSContext, until deadline: UInt64, _ result: inout Result
  ) throws {
    let request = ProbeRequest(authority: gateway.httpsAuthority)
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
        result.facts.root = connection.trustedRoot
        result.facts.outcome = .answered(
          status: answer.status, reason: answer.reason, excerpt: answer.excerpt)
        result.secondsAhead = answer.secondsAhead
        return
      }
      if connection.isClosed { break }
      poller.wait(timeoutMilliseconds: 50, into: &events)
      for event in events {
        connection.socketReady(
          readable: event.readable, writable: event.writable, hangup: event.hangup)
      }
    }
    connection.giveUp()
    result.facts.outcome = Self.outcome(connection.drainNotices())
  }

  /// How a connection without an answer ended.
  static func outcome(_ notices: [ConnectionNotice]) -> GatewayFacts.Outcome {
    var words: String?
    for notice in notices {
      switch notice {
      // APNs sends a second one that is empty behind the one that says why.
      case .goAway(_, _, let debug) where !debug.isEmpty:
        let reason = GoAwayReason(debug, parser: JSONParser())
        words = "the gateway closes the connection: \(reason.text)"
      case .closed(.connect(let error)): return .noConnection("\(error)")
      case .closed(.timedOut(.serverHello, let sent)):
        return .noServerHello(bytes: sent, answersSmall: false)
      case .closed(.timedOut(.tcp, let sent)):
        return .noConnection("\(ConnectionFailure.timedOut(.tcp, sent: sent))")
      case .closed(.timedOut(.tunnel, _)):
        return .proxy(ProxyFailure.silent.words, remedy: ProxyFailure.silent.remedy)
      case .closed(.timedOut?): return .silent
      case .closed(.proxy(let failure)):
        return .proxy(failure.words, remedy: failure.remedy)
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
    /// What is not of APNs: the beginning of its body, printable.
    let excerpt: String
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
      status: status, id: exchange.pointee.answerID, body: exchange.pointee.responseBytes,
      parser: JSONParser())
    var ahead: Int64?
    if exchange.pointee.hasDate {
      let text = String(
        decoding: UnsafeBufferPointer(start: date, count: HTTPDate.length), as: UTF8.self)
      ahead = HTTPDate.seconds(text).map { WallClock.seconds() - $0 }
    }
    return Answer(
      status: Int(status),
      // What is not of APNs has no reason of APNs.
      reason: answer.response.isForeign ? "" : answer.reasonText,
      excerpt: answer.response.isForeign
        ? GatewayAnswer.printable(
          exchange.pointee.responseBytes.prefix(GatewayAnswer.excerptLength))
        : "", secondsAhead: ahead)
  }
}
