// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import Glibc
import ServiceKit
import Settings

/// The real gateway behind `--in-front-of`, shared by the loops.
struct RelayPlan: Sendable {
  let host: String
  /// The value of `:authority`.
  let authority: String
  let addresses: [SocketAddress]
  let tls: TLSContext
  let log: ComparisonLog

  /// The timeout for name resolution, in ms.
  private static let patience: Int32 = 10_000

  /// nil without `--in-front-of`.
  init?(_ settings: SimulatorSettings) throws {
    guard let endpoint = settings.inFrontOf else { return nil }
    host = endpoint.host
    authority = endpoint.httpsAuthority
    tls = try .client(roots: settings.inFrontOfRoot.map { .file($0) } ?? .system)
    log = try ComparisonLog(path: settings.comparison)
    addresses = try Self.addresses(of: endpoint)
  }

  private static func addresses(of endpoint: Endpoint) throws -> [SocketAddress] {
    let answers = Mailbox<Resolution>(wakeup: Wakeup())
    let resolver = try Resolver(answers: answers)
    resolver.resolve(endpoint.host, port: endpoint.port, number: 1, seed: 1)
    var descriptor = pollfd(fd: answers.wakeup.fd, events: Int16(POLLIN), revents: 0)
    poll(&descriptor, 1, patience)
    guard let answer = answers.drain().first else {
      throw ServiceFailure("--in-front-of: no name server has answered for \(endpoint.host)")
    }
    let addresses = try answer.result.get()
    guard !addresses.isEmpty else {
      throw ServiceFailure("--in-front-of: \(endpoint.host) has no address")
    }
    return addresses
  }
}
