// SPDX-License-Identifier: Apache-2.0
import Contract

/// What a gateway does to a connection or a push.
enum GatewayDeed: Sendable, Equatable {
  /// An answer.
  case answer(GatewayResponse)
  /// RST_STREAM with REFUSED_STREAM, or with another code.
  case refusedStream, reset
  /// Nothing, until the request times out.
  case silence
  /// GOAWAY with a reason; the push is among those that it does not cover.
  case goAway(Reason?)
  /// The socket breaks.
  case broken

  static func reason(_ reason: Reason) -> GatewayDeed {
    .answer(GatewayResponse(status: reason.rule.status, reason: reason))
  }
  /// An answer that is not of APNs.
  static func foreign(_ status: UInt16) -> GatewayDeed {
    .answer(GatewayResponse(status: status, id: .none))
  }
  static let accepted = GatewayDeed.answer(GatewayResponse(status: 200))
}

/// What becomes of a connect.
enum ConnectDeed: Sendable, Equatable {
  case served
  /// Refused by TCP or TLS at once.
  case refused
  /// Not even TCP.
  case silence
  /// The system knows no way to the address: it fails with the call.
  case unreachable
  /// TCP is up, and no ServerHello comes; TLS is up, and no SETTINGS come.
  case noHello, noSettings
  /// TCP, TLS and SETTINGS take so many milliseconds each.
  case slow(UInt64)
  /// GOAWAY with the first frames.
  case goAway(Reason?)
}
