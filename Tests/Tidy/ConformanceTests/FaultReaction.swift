// SPDX-License-Identifier: Apache-2.0
import Faults

/// How the sender reacts to a fault, in words.
extension FaultID {
  var reaction: String {
    switch self {
    case .anyAnswer: "as the table of reasons says"
    case .goneTimestamp: "passes the timestamp to feedback, which compares it with the registration"
    case .unexpectedAnswer: "decides by the class of the status; does not crash"
    case .reasonSpelling: "treats it as the intended reason"
    case .streamLimitLow: "sends one stream at a time without deadlock; uses other connections"
    case .streamLimitChanges:
      "never exceeds the limit; sends refused streams again at once, uncounted"
    case .streamReset:
      "sends refused streams again at once, uncounted; treats other codes as ambiguous"
    case .goAwayCredential: "opens the credential's circuit breaker; backs off"
    case .goAwayShutdown: "sends nothing new, awaits open answers, closes the connection itself"
    case .goAwayForm: "sends streams above the last id again at once, uncounted; awaits the others"
    case .connectionLost:
      "treats open requests as ambiguous: sends them again with the same apns-id on another connection"
    case .blackHole: "detects it by deadlines and PING; sends again elsewhere with the same apns-id"
    case .flowControl: "respects flow control; delivers everything"
    case .addedLatency: "keeps queues bounded; records wait in Kafka"
    case .unusualFrames: "reads it like any answer"
    case .earlyAnswer: "stops sending the body; the answer counts"
    case .tlsFailure: "refuses the connection with a clear error and backs off; loses nothing"
    case .deadAddress: "avoids the dead address and uses the others"
    case .connectRefused: "backs off with jitter"
    case .wrongClock: "requests a new provider token once; logs an error"
    case .providerTokenRefused: "as the rows of the provider token's reasons say"
    case .tooManyRequests: "delays that device only"
    case .serviceUnavailable: "stops intake, then ramps up; makes no dead letters"
    case .errorDisconnect: "reconnects; loses nothing"
    case .lostAnswer: "treats it as ambiguous: sends again with the same apns-id"
    case .headerLimits: "adapts the encoder; a refused header list is final"
    case .idleConnection: "reconnects when there is something to send"
    case .streamIDsExhausted: "moves to a new connection"
    }
  }
}
