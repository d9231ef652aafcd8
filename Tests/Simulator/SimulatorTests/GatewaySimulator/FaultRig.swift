// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import GatewaySimulator
import Glibc
import HTTP2
import Records
import Testing

/// A simulator with faults, and clients that look at what they get.
final class FaultRig {
  let gateway: RunningGateway

  /// Plays `rules`: the list of a script, as JSON text.
  init(_ rules: String, _ change: (inout SimulatorSettings) -> Void = { _ in }) throws {
    gateway = try RunningGateway(change)
    try add(rules)
  }

  func add(_ rules: String) throws {
    let answer = try gateway.admin("POST", "/faults", rules)
    try #require(answer.hasPrefix("{\"accepted\":"), "\(answer)")
  }

  func client(
    at address: SocketAddress? = nil, roots: [UInt8]? = nil,
    settings: SessionSettings = SessionSettings(), expectsSettings: Bool = true
  ) throws -> GatewayClient {
    try GatewayClient(
      gateway, at: address, roots: roots, settings: settings, expectsSettings: expectsSettings)
  }

  /// A client whose stream limit has been raised by a good push.
  func openedClient() throws -> GatewayClient {
    let client = try client()
    _ = try client.send(client.push)
    try client.wait { (client.limits.last ?? 0) > 1 }
    return client
  }

  /// How often each rule fired.
  var fired: [Int64] {
    get throws {
      try (gateway.json("/faults")["rules"]?.array ?? []).compactMap { $0["fired"]?.int }
    }
  }

  static let hasNGHTTP = access("/usr/bin/nghttp", X_OK) == 0

  /// The frames that nghttp (of the nghttp2 project) sends and receives for one request without a
  /// provider token.
  func nghttp() throws -> String {
    let url =
      "https://localhost:\(gateway.simulator.address.port)/3/device/\(String(repeating: "0a", count: 32))"
    let command = "nghttp -v -t 10 -H ':method: POST' -H 'apns-topic: com.example.app' \(url) 2>&1"
    return try Self.output(command)
  }

  /// What a command of the shell prints.
  static func output(_ command: String) throws -> String {
    let pipe = try #require(popen(command, "r"))
    defer { pclose(pipe) }
    var text: [UInt8] = []
    while case let byte = fgetc(pipe), byte >= 0 { text.append(UInt8(byte)) }
    return String(decoding: text, as: UTF8.self)
  }

  /// The statuses of the requests that the gateway recorded.
  var recorded: [Int64] {
    get throws { try gateway.jsonLines("/requests").compactMap { $0["status"]?.int } }
  }
}

extension GatewayClient {
  /// Why the connection ended; nil while it has not, or when it ended in good order.
  var failure: ConnectionFailure? {
    if case .closed(let failure) = notices.last { failure } else { nil }
  }

  var goAways: [(last: Int32, code: UInt32, debug: String)] {
    notices.compactMap { notice in
      if case .goAway(let last, let code, let debug) = notice {
        (last, code, String(decoding: debug, as: UTF8.self))
      } else {
        nil
      }
    }
  }

  /// A push to another device.
  func push(to token: String) -> PushText { push.with(":path", "/3/device/" + token) }
}
