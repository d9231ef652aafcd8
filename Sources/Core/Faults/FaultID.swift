// SPDX-License-Identifier: Apache-2.0

/// The faults that the gateway simulator can play, by their number in `docs/faults.md`.
package enum FaultID: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  case f01 = 1
  case f02, f03, f04, f05, f06, f07, f08, f09, f10, f11, f12, f13, f14
  case f15, f16, f17, f18, f19, f20, f21, f22, f23, f24, f25, f26, f27, f28

  /// The spelling in scripts: `F01` to `F28`.
  package var name: String { rawValue < 10 ? "F0\(rawValue)" : "F\(rawValue)" }

  package var description: String { name }

  /// The fault with this name, or nil.
  package init?(_ name: String) {
    guard let found = Self.allCases.first(where: { $0.name == name }) else { return nil }
    self = found
  }

  /// What it is, in a few words; also the line of the table in `docs/faults.md`.
  package var title: String { Self.titles[Int(rawValue) - 1] }

  private static let titles = [
    "any status and reason", "410 with an earlier, later or missing timestamp",
    "answers that nobody expects", "odd spellings of a reason",
    "a stream limit that is never or late raised", "a stream limit that falls and flaps",
    "RST_STREAM", "GOAWAY that refuses the credential",
    "GOAWAY Shutdown with the socket left open", "GOAWAY in unusual forms",
    "the TCP connection breaks", "black holes", "tiny and moving flow-control windows",
    "latency", "answers in unusual frames", "an answer before the request's end",
    "TLS faults", "dead addresses", "refused and rate-limited connects", "a wrong clock",
    "provider tokens refused", "429 for a hot device token", "storms of 500 and 503",
    "disconnect after errors", "processed, but the answer is lost",
    "HPACK and header list limits", "idle connections ended or dropped",
    "stream ids used up",
  ]

  /// The moments at which it can happen; the first is taken unless a rule says otherwise.
  package var stages: [FaultStage] {
    switch self {
    case .f01, .f02, .f03, .f04, .f14, .f15, .f22, .f23, .f25: [.request]
    case .f05: [.connection]
    case .f06: [.request, .answer]
    case .f07: [.request]
    case .f08: [.ready]
    case .f09, .f10: [.request, .ready, .answer]
    case .f11: [.request, .connection, .ready, .answer]
    case .f12: [.request, .ready]
    case .f13, .f26: [.connection, .request]
    case .f16, .f17: [.connection]
    case .f19: [.connection, .standing]
    case .f18, .f20: [.standing]
    case .f21: [.standing]
    case .f24: [.answer]
    case .f27: [.idle]
    case .f28: [.request]
    }
  }
}

/// The moments at which the gateway asks whether a fault is due.
package enum FaultStage: UInt8, Sendable, CaseIterable, CustomStringConvertible {
  /// A TCP connection has been accepted; TLS has not begun.
  case connection
  /// TLS is up; SETTINGS have not been sent.
  case ready
  /// A request is complete and its verdict is known, but nothing has been done about it.
  case request
  /// The answer has been handed to the stream.
  case answer
  /// Nothing has come in on the connection for a while.
  case idle
  /// Not a moment: a condition of the whole gateway that holds as long as the rule does.
  case standing

  package var description: String {
    switch self {
    case .connection: "connection"
    case .ready: "ready"
    case .request: "request"
    case .answer: "answer"
    case .idle: "idle"
    case .standing: "standing"
    }
  }

  /// The stage with this name, or nil.
  package init?(_ name: String) {
    guard let found = Self.allCases.first(where: { $0.description == name }) else { return nil }
    self = found
  }
}
