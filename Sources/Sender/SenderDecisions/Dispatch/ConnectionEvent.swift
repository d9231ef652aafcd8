// SPDX-License-Identifier: Apache-2.0

public import Contract

/// An event of one connection, but for its streams.
public enum ConnectionEvent: Sendable {
  /// It could not even be begun: the system refuses it, which another address does not change.
  case notOpened
  /// It came a step nearer to TLS: TCP is up, the proxy's tunnel, or the gateway has said something.
  case advanced
  /// Something came from its gateway, which allows so many streams at once now: perhaps fewer than it did. Streams that
  /// crossed a falling limit came back refused: that is judged by the new one.
  case touched(limit: Int)
  /// TLS is up.
  case connected
  /// The gateway allows so many streams at once. Before it has said so nothing is known of it, so nothing is sent.
  case settings(limit: Int)
  /// The gateway is leaving: its reason, and whether its code or other words say that something is wrong.
  case goAway(Reason?, isError: Bool = false)
  /// The gateway answered a PING.
  case ponged
  /// It is over, and all its streams have ended; a failure: not in good order.
  case closed(isFailure: Bool)
}
