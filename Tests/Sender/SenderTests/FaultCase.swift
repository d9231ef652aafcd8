// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import GatewayModel
import Records
import TestSupport

@testable import Sender

/// What a sender has made of notifications while the gateway played a fault.
struct FaultRun {
  let receipts: [Receipt]
  let sender: RunningService

  func receipt(_ number: Int) -> Receipt? {
    let token = SenderRig.token(number)
    return receipts.first { $0.token == token }
  }
  var allDelivered: Bool { receipts.allSatisfy { $0.outcome == .delivered } }
  var mostAttempts: Int64 { receipts.compactMap(\.attempts).max() ?? 0 }
  var foundSilence: Bool { counter("timed_out") + counter("silent_connections") > 0 }

  func counter(_ name: String) -> Int { sender.counter(name) }
}

/// One fault: the rules that play it, and what must hold then. Every notification gets a receipt in any case.
struct FaultCase: Sendable {
  /// The rules as the simulator reads them.
  var rules: String
  var simulator: [String] = []
  var sender: [String] = []
  /// Notifications, to as many devices.
  var count = 200
  /// The rules end after so many milliseconds; the credential is renewed then.
  var endsAfter: UInt32?
  /// Whether a lost answer, or a silent connection, has to be found: other cases must not take a busy machine for one.
  var findsSilence = false
  /// Sends half of the notifications, and the rest after so many milliseconds.
  var pause: UInt32?
  /// What was expected and does not hold, in words; nothing when all is well.
  var failures: @Sendable (FaultRun) -> [String]

  private static func expect(
    _ expectations: (String, @Sendable (FaultRun) -> Bool)...
  ) -> @Sendable (FaultRun) -> [String] {
    let all = expectations
    return { run in all.filter { !$0.1(run) }.map(\.0) }
  }

  private static let delivered: (String, @Sendable (FaultRun) -> Bool) = (
    "all are delivered", { $0.allDelivered }
  )
  private static let uncounted: (String, @Sendable (FaultRun) -> Bool) = (
    "what was not processed costs no attempt", { $0.mostAttempts == 1 }
  )
  private static let lost: (String, @Sendable (FaultRun) -> Bool) = (
    "the loss of the connection was noticed", { $0.counter("connections_lost") > 0 }
  )

  private static func token(_ number: Int) -> String { SenderRig.token(number) }

  static func of(_ fault: Fault) -> FaultCase {
    switch fault {
    case .anyAnswer, .goneTimestamp, .unexpectedAnswer, .reasonSpelling, .tooManyRequests,
      .serviceUnavailable:
      answers(fault)
    case .streamLimitLow, .streamLimitChanges, .streamReset, .flowControl, .unusualFrames,
      .earlyAnswer, .lostAnswer, .headerLimits, .streamIDsExhausted:
      streams(fault)
    case .goAwayCredential, .wrongClock, .providerTokenRefused: credentials(fault)
    default: connections(fault)
    }
  }

  // MARK: Answers

  private static func answers(_ fault: Fault) -> FaultCase {
    switch fault {
    case .anyAnswer:
      FaultCase(
        rules:
          #"[{"id":"any_answer","status":400,"reason":"BadTopic","when":{"token":"\#(token(5))"}}]"#,
        failures: expect(
          ("the refused one names the reason", { $0.receipt(5)?.reason == "BadTopic" }),
          ("the others are delivered", { $0.receipts.count { $0.outcome == .delivered } == 199 })))
    case .goneTimestamp:
      FaultCase(
        rules: #"[{"id":"gone_timestamp","timestamp":"missing","when":{"token":"\#(token(1))"}},"#
          + #"{"id":"gone_timestamp","timestamp":"-1h","when":{"token":"\#(token(2))"}}]"#,
        failures: expect(
          ("without a timestamp", { $0.receipt(1).map { $0.timestamp == nil } ?? false }),
          (
            "with an earlier one", { $0.receipt(2).map { ($0.timestamp ?? .max) < $0.at } ?? false }
          ),
          ("both are gone", { $0.receipts.count { $0.status == 410 } == 2 })))
    case .unexpectedAnswer:
      FaultCase(
        rules: "["
          + ["unknown_reason", "extra_keys", "empty", "broken", "huge"].enumerated().map {
            #"{"id":"unexpected_answer","form":"\#($1)","status":400,"#
              + #""when":{"token":"\#(token($0 + 1))"\#($0 < 2 ? "" : #","times":1"#)}}"#
          }.joined(separator: ",")
          + #",{"id":"unexpected_answer","form":"unknown_status","when":{"token":"\#(token(6))"}}]"#,
        failures: expect(
          (
            "400 is final if it has a reason; so is 418",
            { $0.receipts.count { $0.outcome == .rejected } == 3 }
          ),
          (
            "each with its status",
            { run in
              run.receipt(6)?.status == 418 && (1...2).allSatisfy { run.receipt($0)?.status == 400 }
            }
          )))
    case .reasonSpelling:
      FaultCase(
        rules:
          #"[{"id":"reason_spelling","spelling":"Service Unavailable","when":{"token":"\#(token(3))","times":1}}]"#,
        failures: expect(
          delivered, ("sent again at once, elsewhere", { $0.receipt(3)?.attempts == 2 })))
    case .tooManyRequests:
      FaultCase(
        rules: #"[{"id":"too_many_requests","when":{"token":"\#(token(7))","times":1}}]"#,
        failures: expect(
          delivered,
          ("the device waits", { run in run.receipt(7).map { wait($0) >= 5_000 } ?? false }),
          (
            "the others do not",
            { run in
              let longest = run.receipt(7).map { wait($0) } ?? 0
              return run.receipts.count { wait($0) + 1_000 < longest } >= 199
            }
          )))
    default:
      FaultCase(
        rules: #"[{"id":"service_unavailable"}]"#, endsAfter: 1_500,
        failures: expect(
          delivered, ("nothing is dead-lettered", { $0.counter("dead_lettered") == 0 }),
          ("sending stopped", { $0.counter("kept_in_outage") > 0 })))
    }
  }

  private static func wait(_ receipt: Receipt) -> Int64 { receipt.at - (receipt.created ?? 0) }

  // MARK: Streams

  private static func streams(_ fault: Fault) -> FaultCase {
    switch fault {
    case .streamLimitLow:
      FaultCase(
        rules: #"[{"id":"stream_limit_low","limit":1,"when":{"connection":1}}]"#,
        failures: expect(delivered, uncounted))
    case .streamLimitChanges:
      FaultCase(
        rules:
          #"[{"id":"stream_limit_changes","limits":[1,0,1000],"hold":"100ms","at":"answer","when":{"every":20}}]"#,
        failures: expect(
          delivered, uncounted, ("no limit was broken", { $0.counter("connections_lost") == 0 })))
    case .streamReset:
      FaultCase(
        // Twice, because the first rule may meet the same request.
        rules: #"[{"id":"stream_reset","when":{"every":5,"times":20}},"#
          + #"{"id":"stream_reset","codes":["INTERNAL_ERROR"],"when":{"token":"\#(token(4))","times":2}}]"#,
        failures: expect(
          delivered,
          ("refused ones go again, uncounted", { $0.counter("resent_unprocessed") >= 10 }),
          ("others are ambiguous", { $0.receipt(4)?.attempts ?? 0 >= 2 })))
    case .flowControl:
      FaultCase(
        rules: #"[{"id":"flow_control","window":7,"hold":"200ms","when":{"connection":1}}]"#,
        failures: expect(delivered))
    case .unusualFrames:
      FaultCase(
        rules:
          #"[{"id":"unusual_frames"},{"id":"any_answer","status":410,"reason":"Unregistered","timestamp":1790000000000,"#
          + #""when":{"token":"\#(token(9))"}}]"#,
        failures: expect(
          ("a refusal is read", { $0.receipt(9)?.timestamp == 1_790_000_000_000 }),
          ("the others are delivered", { $0.receipts.count { $0.outcome == .delivered } == 199 })))
    case .earlyAnswer:
      FaultCase(
        rules: #"[{"id":"early_answer","window":10}]"#, count: 20,
        failures: expect(
          (
            "the early answer counts", { $0.receipts.allSatisfy { $0.reason == "PayloadTooLarge" } }
          ),
          ("once each", { $0.mostAttempts == 1 })))
    case .lostAnswer:
      FaultCase(
        rules: #"[{"id":"lost_answer","when":{"token":"\#(token(6))","times":1}},"#
          + #"{"id":"lost_answer","with":"reset","when":{"token":"\#(token(8))","times":1}}]"#,
        findsSilence: true,
        failures: expect(
          delivered, ("sent again after the deadline", { $0.receipt(6)?.attempts == 2 }),
          ("sent again after the reset", { $0.receipt(8)?.attempts == 2 })))
    case .headerLimits:
      FaultCase(
        rules: #"[{"id":"header_limits","table_size":0},"#
          + #"{"id":"header_limits","at":"request","when":{"header_list_size":1,"times":1}}]"#,
        failures: expect(
          ("one header list is refused", { $0.counter("foreign_answers") == 1 }), delivered))
    default:
      FaultCase(
        rules: #"[{"id":"stream_ids_exhausted","when":{"stream_id":101,"times":2}}]"#,
        sender: ["--max-in-flight", "32"],
        failures: expect(
          delivered, uncounted, ("connections were replaced", { $0.counter("connects") > 1 })))
    }
  }

  // MARK: Credentials

  private static func credentials(_ fault: Fault) -> FaultCase {
    let rules =
      switch fault {
      case .goAwayCredential: #"[{"id":"goaway_credential"}]"#
      case .wrongClock: #"[{"id":"wrong_clock","skew":"+61m"}]"#
      default: #"[{"id":"provider_token_refused","revoked":"KEY0000001"}]"#
      }
    return FaultCase(
      rules: rules, endsAfter: 3_000,
      failures: expect(
        (
          "what was not refused for good is delivered",
          { $0.receipts.allSatisfy { $0.outcome == .delivered || $0.status == 403 } }
        ),
        ("few are refused", { $0.receipts.count { $0.status == 403 } < 20 }),
        ("no storm of connects", { $0.counter("connects") < 20 })))
  }

  // MARK: Connections

  private static func connections(_ fault: Fault) -> FaultCase {
    switch fault {
    case .goAwayShutdown:
      FaultCase(
        rules: #"[{"id":"goaway_shutdown","when":{"nth":50}}]"#,
        failures: expect(delivered, ("GOAWAY is counted", { $0.counter("go_aways") == 1 })))
    case .goAwayForm:
      FaultCase(
        rules: #"[{"id":"added_latency","time":"5ms"},"#
          + ["below", "two_step", "twice", "text", "empty", "binary"].enumerated().map {
            #"{"id":"goaway_form","form":"\#($1)","behind":3,"then":"drain","#
              + #""when":{"connection":\#($0 + 1),"nth":20}}"#
          }.joined(separator: ",") + "]",
        sender: ["--max-in-flight", "32"],
        failures: expect(
          delivered, uncounted, ("GOAWAY is counted", { $0.counter("go_aways") >= 6 })))
    case .connectionLost:
      FaultCase(
        rules: #"[{"id":"connection_lost","with":"reset","when":{"nth":40}},"#
          + #"{"id":"connection_lost","with":"end","when":{"nth":90}}]"#,
        failures: expect(delivered, lost))
    case .blackHole:
      FaultCase(
        rules: #"[{"id":"black_hole","what":"answers","when":{"token":"\#(token(2))","times":1}},"#
          + #"{"id":"black_hole","what":"everything","when":{"nth":80}},{"id":"black_hole","what":"settings","#
          + #""when":{"connection":2}}]"#,
        findsSilence: true,
        failures: expect(
          // By its own deadline, or by the PING that finds its connection silent.
          delivered, ("a silent stream is found", { $0.foundSilence }),
          ("it is sent again", { $0.receipt(2)?.attempts ?? 0 >= 2 })))
    case .addedLatency:
      FaultCase(
        rules: #"[{"id":"added_latency","profile":"lognormal","median":"30ms","p99":"200ms"}]"#,
        failures: expect(delivered, uncounted))
    case .tlsFailure:
      FaultCase(
        rules: "["
          + ["expired", "http_1_1", "wrong_host"].enumerated().map {
            #"{"id":"tls_failure","tls":"\#($1)","when":{"connection":\#($0 + 1)}}"#
          }.joined(separator: ",") + "]",
        failures: expect(
          delivered, uncounted, ("three were given up", { $0.counter("connections_lost") >= 3 })))
    case .deadAddress:
      FaultCase(
        rules: #"[{"id":"dead_address","when":{"address":"127.0.0.1"}}]"#,
        simulator: ["--listen-also", "127.0.0.2"], failures: expect(delivered, uncounted))
    case .connectRefused:
      FaultCase(
        rules: #"[{"id":"connect_refused","when":{"times":2}}]"#,
        failures: expect(delivered, uncounted, lost))
    case .errorDisconnect:
      FaultCase(
        rules: #"[{"id":"error_disconnect","when":{"errors":5}},"#
          + #"{"id":"any_answer","status":400,"reason":"BadTopic","when":{"every":10}}]"#,
        failures: expect(
          (
            "refusals are final",
            { $0.receipts.allSatisfy { $0.status == 200 || $0.status == 400 } }
          ),
          ("it was disconnected", { $0.counter("go_aways") > 0 })))
    default:  // idle_connection
      FaultCase(
        rules: #"[{"id":"idle_connection","when":{"idle":"200ms","connection":1}},"#
          + #"{"id":"idle_connection","with":"silence","when":{"idle":"200ms","connection":2}}]"#,
        findsSilence: true, pause: 1_500, failures: expect(delivered))
    }
  }
}
