// SPDX-License-Identifier: Apache-2.0

/// Keeps web pages away from servers that ask for no password: a page in the operator's browser reaches what the browser
/// reaches, by a request across sites, or under a name of its own whose address it changes (DNS rebinding).
public struct BrowserGuard: Sendable {
  private enum Names: Sendable {
    case any
    case only(Set<String>, withoutDot: Bool)
  }

  private let names: Names

  private init(_ names: Names) { self.names = names }

  /// Answers under every name: for servers whose requests carry a secret of their own.
  public static let anyHost = BrowserGuard(.any)

  /// Answers under addresses, loopback names, and the names that are given. A server that others reach over the network
  /// (it does not listen on the loopback) also answers under names without a dot, which no stranger can have in public
  /// DNS: those of services in Compose and in Kubernetes.
  ///
  /// - Parameters:
  ///   - listen: where the server listens.
  ///   - others: further names; `*.example.com` means every name below it.
  public static func local(listen: String, others: [String]) -> BrowserGuard {
    var names = Set(others.map { $0.lowercased() })
    names.insert(listen.lowercased())
    return BrowserGuard(.only(names, withoutDot: !isLoopback(listen)))
  }

  private static func isLoopback(_ host: String) -> Bool {
    host.lowercased() == "localhost" || host.hasPrefix("127.") || host == "::1" || host == "[::1]"
  }

  /// Why a request is not answered; nil if it is.
  public func problem(_ head: RequestHead) -> RequestProblem? {
    let host = HTTPAuthority.split(head.host).host.lowercased()
    guard answers(host) else {
      return RequestProblem(
        421,
        "\(host) is not a name of this server; its settings can add names to addresses and localhost"
      )
    }
    guard case .only = names, changesState(head.method) else { return nil }
    guard isOwn(head.field("Origin"), head.host), isOwn(site: head.field("Sec-Fetch-Site")) else {
      return RequestProblem(403, "a web page of another site may change nothing here")
    }
    return nil
  }

  private func answers(_ host: String) -> Bool {
    guard case .only(let names, let withoutDot) = names else { return true }
    if host.isEmpty || host == "localhost" || host.hasSuffix(".localhost") { return true }
    if host.hasPrefix("[") || Self.isAddress(host) || names.contains(host) { return true }
    if withoutDot, !host.contains(".") { return true }
    return names.contains { $0.hasPrefix("*.") && host.hasSuffix($0.dropFirst()) }
  }

  /// An IPv4 address as four numbers: no name of DNS ends in a number.
  private static func isAddress(_ host: String) -> Bool {
    let parts = host.split(separator: ".", omittingEmptySubsequences: false)
    return parts.count == 4
      && parts.allSatisfy { $0.utf8.count <= 3 && UInt8($0) != nil && $0.utf8.first != 0x2B }
  }

  private func changesState(_ method: String) -> Bool {
    method != "GET" && method != "HEAD" && method != "OPTIONS"
  }

  private func isOwn(_ origin: String?, _ host: String) -> Bool {
    guard let origin else { return true }
    let parts = origin.lowercased().split(separator: "/", omittingEmptySubsequences: true)
    return parts.count == 2 && parts[1] == host.lowercased()
  }

  private func isOwn(site: String?) -> Bool {
    site == nil || site == "same-origin" || site == "none"
  }
}
