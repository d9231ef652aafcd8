// SPDX-License-Identifier: Apache-2.0
import EventLoop

/// Addresses for a gateway's name, all on this machine, where nothing serves: without a route, with a closed port, or
/// dropping packets.
final class DeadAddresses {
  /// The name `localhost` with all of them and the working one.
  static let hosts: String = {
    let groups = (1...6).map { "ff02::\($0)" }
    let hosts = (2...13).map { "127.0.0.\($0)" }
    return (groups + hosts + ["127.0.0.1"]).map { "\($0) localhost\n" }.joined()
  }()

  /// The last six of them.
  private static let swallowing: ClosedRange<UInt8> = 8...13

  /// A socket in a class, for arrays.
  private final class Held {
    let socket: Socket
    init(_ socket: consuming Socket) { self.socket = socket }
  }

  private var held: [Held] = []

  /// Makes some of them drop packets, at the ports of these gateways (`host:port`), while this value exists: their
  /// listeners' queues are full. The others refuse connections.
  init(_ gateways: [String]) throws {
    for gateway in gateways {
      guard let port = gateway.split(separator: ":").last.flatMap({ UInt16($0) }) else { continue }
      for number in Self.swallowing {
        guard let address = SocketAddress(bytes: [127, 0, 0, number], port: port) else { continue }
        held.append(Held(try Socket.listening(on: address, backlog: 0)))
        for _ in 1...3 { held.append(Held(try Socket.connecting(to: address))) }
      }
    }
  }
}
