// SPDX-License-Identifier: Apache-2.0
import CLinux
import Glibc
import Waiting

public struct Resolution: Sendable {
  /// The number given with the request.
  public let request: UInt64
  /// The addresses in the order to try them (shuffled), or why there is none.
  public let result: Result<[SocketAddress], ResolutionFailure>
}

/// A name that has no usable address now.
public struct ResolutionFailure: Error, Sendable, CustomStringConvertible {
  public let host: String
  /// The system's words.
  public let reason: String

  public var description: String { "cannot resolve \(host): \(reason)" }
}

extension ResolutionFailure {
  /// What getaddrinfo(3) answered, and the `errno` that stands behind its "System error".
  init(host: String, code: Int32, errno: Int32) {
    self.host = host
    reason =
      code == EAI_SYSTEM ? SystemError.meaning(of: errno) : String(cString: gai_strerror(code))
  }
}

/// Looks names up on a thread of its own, so that a slow name server never holds up a loop.
///
/// Each request is answered by a look-up that begins after it, and the addresses are shuffled: APNs wants a fresh look-up
/// before each connection so that connections spread over its hosts. Requests for one name that wait together share a
/// look-up: with a slow name server, one after the other would take a thousand pools minutes.
public final class Resolver {
  private struct Request: Sendable {
    let number: UInt64
    let host: String
    let port: UInt16
    let seed: UInt64
  }

  private enum Message: Sendable {
    case resolve(Request)
    case stop
  }

  private let requests: Mailbox<Message>

  /// A resolver that posts its answers to `answers`.
  ///
  /// - Parameter hostsFile: a file in the form of /etc/hosts that is read before each look-up and asked before
  ///   the system. While it cannot be read no name is resolved.
  public init(answers: Mailbox<Resolution>, hostsFile: String? = nil) throws(SystemError) {
    let requests = Mailbox<Message>(wakeup: Wakeup())
    self.requests = requests
    let thread = try LoopThread(name: "resolver") { Resolver.run(requests, answers, hostsFile) }
    thread.detach()
  }

  deinit { requests.post(.stop) }

  /// Asks for `host`; the answer carries `number`. Equal seeds give equal orders. A numeric address
  /// needs no name server.
  public func resolve(_ host: String, port: UInt16, number: UInt64, seed: UInt64) {
    requests.post(.resolve(Request(number: number, host: host, port: port, seed: seed)))
  }

  private static func run(
    _ requests: Mailbox<Message>, _ answers: Mailbox<Resolution>, _ hostsFile: String?
  ) {
    var descriptor = pollfd(fd: requests.wakeup.fd, events: Int16(POLLIN), revents: 0)
    while true {
      poll(&descriptor, 1, -1)
      requests.wakeup.clear()
      var lookUps = SharedLookUps()
      for message in requests.drain() {
        guard case .resolve(let request) = message else { return }
        let result = lookUps.addresses(of: request.host, port: request.port, seed: request.seed) {
          lookUp(request.host, port: request.port, hostsFile)
        }
        answers.post(Resolution(request: request.number, result: result))
      }
    }
  }

  private static func lookUp(
    _ host: String, port: UInt16, _ hostsFile: String?
  ) -> Result<[SocketAddress], ResolutionFailure> {
    if let address = SocketAddress(numeric: host, port: port) { return .success([address]) }
    if let hostsFile {
      do throws(SystemError) {
        let listed = try HostsFile.addresses(of: host, port: port, in: hostsFile)
        if !listed.isEmpty { return .success(listed) }
      } catch {
        // The system may name another host than the file did.
        return .failure(ResolutionFailure(host: host, reason: "\(error)"))
      }
    }
    var hints = addrinfo()
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV
    var list: UnsafeMutablePointer<addrinfo>?
    let code = getaddrinfo(host, String(port), &hints, &list)
    let system = errno
    defer { if let list { freeaddrinfo(list) } }
    guard code == 0 else {
      return .failure(ResolutionFailure(host: host, code: code, errno: system))
    }
    var addresses: [SocketAddress] = []
    var entry = list
    while let current = entry {
      if let raw = current.pointee.ai_addr, let address = SocketAddress(raw),
        !addresses.contains(address)
      {
        addresses.append(address)
      }
      entry = current.pointee.ai_next
    }
    return .success(addresses)
  }
}

/// The look-ups for requests that came together.
struct SharedLookUps {
  private var results: [String: Result<[SocketAddress], ResolutionFailure>] = [:]

  /// The addresses of a name, in an order of the request's own; `lookUp` is asked for them once.
  mutating func addresses(
    of host: String, port: UInt16, seed: UInt64,
    lookUp: () -> Result<[SocketAddress], ResolutionFailure>
  ) -> Result<[SocketAddress], ResolutionFailure> {
    let key = "\(port) \(host)"
    let result = results[key] ?? lookUp()
    results[key] = result
    var random = SeededGenerator(seed: seed)
    return result.map { $0.shuffled(using: &random) }
  }
}
