// SPDX-License-Identifier: Apache-2.0
import Faults

/// What the sender does about a fault, in words.
extension FaultID {
  var reaction: String {
    switch self {
    case .f01: "as the table of reasons says"
    case .f02: "the timestamp goes to feedback, which compares it with the registration"
    case .f03: "by the class of the status; no crash"
    case .f04: "taken for the reason that is meant"
    case .f05: "one stream at a time, no deadlock; other connections serve"
    case .f06: "never a stream above the limit; refused ones again at once, uncounted"
    case .f07: "refused ones again at once, uncounted; other codes are ambiguous"
    case .f08: "breaker opens for the credential; no storm of connects"
    case .f09: "nothing new on it, awaits its answers, closes it itself"
    case .f10: "streams above the last id again at once, uncounted; the others are awaited"
    case .f11: "ambiguous: again with the same apns-id on another connection"
    case .f12: "deadlines and PING find it; again elsewhere with the same apns-id"
    case .f13: "flow control is kept; everything arrives"
    case .f14: "queues stay bounded; Kafka waits"
    case .f15: "read as any answer"
    case .f16: "the body is not sent on; the answer counts"
    case .f17: "refused with a clear error, back-off; nothing is lost"
    case .f18: "the dead address is avoided, the others serve"
    case .f19: "back-off with jitter"
    case .f20: "a new provider token is asked for once; the operator is told"
    case .f21: "by the rows of the provider token's reasons"
    case .f22: "that device waits; the others do not"
    case .f23: "consumption stops, then ramps up; no storm, no dead letters"
    case .f24: "connects again; nothing is lost"
    case .f25: "ambiguous: sent again with the same apns-id"
    case .f26: "the encoder follows; a refused header list is final"
    case .f27: "connects again when there is something to send"
    case .f28: "rotates to a new connection"
    }
  }
}
