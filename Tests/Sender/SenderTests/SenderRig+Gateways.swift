// SPDX-License-Identifier: Apache-2.0
import Contract
import Crypto
import EventLoop
import Kafka
import Records
import SenderDecisions
import TestSupport

@testable import Sender

/// Scripted gateways behind the name `gateway.test`, and what a sender needs to reach them.
extension SenderRig {
  static let gatewayName = "gateway.test"

  func gatewayIdentity() throws -> TLSIdentity {
    let issued = try authority.issueServer(names: [Self.gatewayName, "localhost"])
    return TLSIdentity(certificates: issued.certificatePEM, key: issued.keyPEM)
  }

  /// Gateways with one port at 127.0.0.1, 127.0.0.2 and so on.
  func gateways(_ scripts: [ScriptedGateway.Script]) throws -> [ScriptedGateway] {
    let identity = try gatewayIdentity()
    var gateways: [ScriptedGateway] = []
    for (index, script) in scripts.enumerated() {
      let port = gateways.first?.address.port ?? 0
      guard let address = SocketAddress(bytes: [127, 0, 0, UInt8(index + 1)], port: port) else {
        continue
      }
      gateways.append(try ScriptedGateway(identity, on: address, script))
    }
    return gateways
  }

  /// Writes the hosts file that says where `gateway.test` is.
  func point(to addresses: [SocketAddress]) throws {
    let lines = addresses.map { "\($0.host) \(Self.gatewayName) # a test's\n" }.joined()
    try File.write(folder.file("hosts"), Array(lines.utf8))
  }

  /// A sender for these gateways, with one loop and time limits that are short, but not so short that a machine with
  /// other work to do breaks them.
  @discardableResult
  func startSender(
    for gateways: [ScriptedGateway], _ flags: [String] = [], beside others: [SocketAddress] = [],
    connectTimeout: UInt64 = 2_000, fixed change: (inout DispatchSettings) -> Void = { _ in }
  ) throws -> RunningService {
    try point(to: others + gateways.map(\.address))
    return try startSender(
      ["--gateway-hosts", folder.file("hosts")] + flags, loops: 1,
      gateway: "\(Self.gatewayName):\(gateways[0].address.port)"
    ) {
      $0.connectTimeout = connectTimeout
      $0.pingAfter = 1_000
      $0.pingTimeout = 10_000
      change(&$0)
    }
  }

  /// Withdraws a credential, as a signer does.
  func withdrawToken(_ credential: String) throws {
    let topic = try producer.topic(named: names.providerTokens)
    guard let record = ProviderTokenRecord(withdrawing: credential, at: WallClock.seconds()) else {
      return
    }
    try fixture.produce(
      producer, topic, key: credential, value: String(decoding: record.value, as: UTF8.self))
    try fixture.produce(producer, topic, key: credential, value: nil)
  }

  /// Produces `count` notifications with ids and tokens from `first` on.
  func sendMany(_ count: Int, from first: Int = 0) throws {
    for number in first..<first + count {
      try send(SenderRig.token(number), SenderRig.envelope(id: SenderRig.id(number)))
    }
    _ = producer.flush(timeoutMilliseconds: 30_000)
  }
}
