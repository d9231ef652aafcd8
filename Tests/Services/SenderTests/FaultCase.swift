// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Faults
import Pipeline
import Records

@testable import Sender

/// What a sender has made of notifications while the gateway played a fault.
struct FaultRun {
  let receipts: [Receipt]
  let sender: RunningSender

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

  static func of(_ fault: FaultID) -> FaultCase {
    switch fault {
    case .f01, .f02, .f03, .f04, .f22, .f23: answers(fault)
    case .f05, .f06, .f07, .f13, .f15, .f16, .f25, .f26, .f28: streams(fault)
    case .f08, .f20, .f21: credentials(fault)
    default: connections(fault)
    }
  }

  // MARK: Answers

  private static func answers(_ fault: FaultID) -> FaultCase {
    switch fault {
    case .f01:
      FaultCase(
        rules: #"[{"id":"F01","status":400,"reason":"BadTopic","when":{"token":"\#(token(5))"}}]"#,
        failures: expect(
          ("the refused one names the reason", { $0.receipt(5)?.reason == "BadTopic" }),
          ("the others are delivered", { $0.receipts.count { $0.outcome == .delivered } == 199 })))
    case .f02:
      FaultCase(
        rules: #"[{"id":"F02","timestamp":"missing","when":{"token":"\#(token(1))"}},"#
          + #"{"id":"F02","timestamp":"-1h","when":{"token":"\#(token(2))"}}]"#,
        failures: expect(
          ("without a timestamp", { $0.receipt(1).map { $0.timestamp == nil } ?? false }),
          (
            "with an earlier one", { $0.receipt(2).map { ($0.timestamp ?? .max) < $0.at } ?? false }
          ),
          ("both are gone", { $0.receipts.count { $0.status == 410 } == 2 })))
    case .f03:
      FaultCase(
        rules: "["
          + ["unknown_reason", "empty", "broken", "extra_keys", "huge"].enumerated().map {
            #"{"id":"F03","form":"\#($1)","status":400,"when":{"token":"\#(token($0 + 1))"}}"#
          }.joined(separator: ",") + "]",
        failures: expect(
          (
            "400 is final, whatever its body",
            { $0.receipts.count { $0.outcome == .rejected } == 5 }
          ),
          (
            "all with their status",
            { run in (1...5).allSatisfy { run.receipt($0)?.status == 400 } }
          )))
    case .f04:
      FaultCase(
        rules:
          #"[{"id":"F04","spelling":"Service Unavailable","when":{"token":"\#(token(3))","times":1}}]"#,
        failures: expect(
          delivered, ("sent again at once, elsewhere", { $0.receipt(3)?.attempts == 2 })))
    case .f22:
      FaultCase(
        rules: #"[{"id":"F22","when":{"token":"\#(token(7))","times":1}}]"#,
        failures: expect(
          delivered,
          ("the device waits", { run in run.receipt(7).map { wait($0) >= 5_000 } ?? false }),
          (
            "the others do not",
            { run in
              let longest = run.receipt(7).map { wait($0) } ?? 0
              return run.receipts.count { wait($0) + 3_000 < longest } >= 199
            }
          )))
    default:
      FaultCase(
        rules: #"[{"id":"F23"}]"#, endsAfter: 1_500,
        failures: expect(
          delivered, ("nothing is dead-lettered", { $0.counter("dead_lettered") == 0 }),
          ("sending stopped", { $0.counter("kept_in_outage") > 0 })))
    }
  }

  private static func wait(_ receipt: Receipt) -> Int64 { receipt.at - (receipt.created ?? 0) }

  // MARK: Streams

  private static func streams(_ fault: FaultID) -> FaultCase {
    switch fault {
    case .f05:
      FaultCase(
        rules: #"[{"id":"F05","limit":1,"when":{"connection":1}}]"#,
        failures: expect(delivered, uncounted))
    case .f06:
      FaultCase(
        rules:
          #"[{"id":"F06","limits":[1,0,1000],"hold":"100ms","at":"answer","when":{"every":20}}]"#,
        failures: expect(
          delivered, uncounted, ("no limit was broken", { $0.counter("connections_lost") == 0 })))
    case .f07:
      FaultCase(
        // Twice, because the first rule may meet the same request.
        rules: #"[{"id":"F07","when":{"every":5,"times":20}},"#
          + #"{"id":"F07","codes":["INTERNAL_ERROR"],"when":{"token":"\#(token(4))","times":2}}]"#,
        failures: expect(
          delivered,
          ("refused ones go again, uncounted", { $0.counter("resent_unprocessed") >= 10 }),
          ("others are ambiguous", { $0.receipt(4)?.attempts ?? 0 >= 2 })))
    case .f13:
      FaultCase(
        rules: #"[{"id":"F13","window":7,"hold":"200ms","when":{"connection":1}}]"#,
        failures: expect(delivered))
    case .f15:
      FaultCase(
        rules:
          #"[{"id":"F15"},{"id":"F01","status":410,"reason":"Unregistered","timestamp":1790000000000,"#
          + #""when":{"token":"\#(token(9))"}}]"#,
        failures: expect(
          ("a refusal is read", { $0.receipt(9)?.timestamp == 1_790_000_000_000 }),
          ("the others are delivered", { $0.receipts.count { $0.outcome == .delivered } == 199 })))
    case .f16:
      FaultCase(
        rules: #"[{"id":"F16","window":10}]"#, count: 20,
        failures: expect(
          (
            "the early answer counts", { $0.receipts.allSatisfy { $0.reason == "PayloadTooLarge" } }
          ),
          ("once each", { $0.mostAttempts == 1 })))
    case .f25:
      FaultCase(
        rules: #"[{"id":"F25","when":{"token":"\#(token(6))","times":1}},"#
          + #"{"id":"F25","with":"reset","when":{"token":"\#(token(8))","times":1}}]"#,
        failures: expect(
          delivered, ("sent again after the deadline", { $0.receipt(6)?.attempts == 2 }),
          ("sent again after the reset", { $0.receipt(8)?.attempts == 2 })))
    case .f26:
      FaultCase(
        rules: #"[{"id":"F26","table_size":0},"#
          + #"{"id":"F26","at":"request","when":{"header_list_size":1,"times":1}}]"#,
        failures: expect(
          ("one header list is refused for good", { $0.receipts.count { $0.status == 431 } == 1 }),
          ("the others are delivered", { $0.receipts.count { $0.outcome == .delivered } == 199 })))
    default:
      FaultCase(
        rules: #"[{"id":"F28","when":{"stream_id":101,"times":2}}]"#,
        sender: ["--max-in-flight", "32"],
        failures: expect(
          delivered, uncounted, ("connections were replaced", { $0.counter("connects") > 1 })))
    }
  }

  // MARK: Credentials

  private static func credentials(_ fault: FaultID) -> FaultCase {
    let rules =
      switch fault {
      case .f08: #"[{"id":"F08"}]"#
      case .f20: #"[{"id":"F20","skew":"+61m"}]"#
      default: #"[{"id":"F21","revoked":"KEY0000001"}]"#
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

  private static func connections(_ fault: FaultID) -> FaultCase {
    switch fault {
    case .f09:
      FaultCase(
        rules: #"[{"id":"F09","when":{"nth":50}}]"#,
        failures: expect(delivered, ("GOAWAY is counted", { $0.counter("go_aways") == 1 })))
    case .f10:
      FaultCase(
        rules: #"[{"id":"F14","time":"5ms"},"#
          + ["below", "two_step", "twice", "text", "empty", "binary"].enumerated().map {
            #"{"id":"F10","form":"\#($1)","behind":3,"then":"drain","#
              + #""when":{"connection":\#($0 + 1),"nth":20}}"#
          }.joined(separator: ",") + "]",
        sender: ["--max-in-flight", "32"],
        failures: expect(
          delivered, uncounted, ("GOAWAY is counted", { $0.counter("go_aways") >= 6 })))
    case .f11:
      FaultCase(
        rules:
          #"[{"id":"F11","with":"reset","when":{"nth":40}},{"id":"F11","with":"end","when":{"nth":90}}]"#,
        failures: expect(delivered, lost))
    case .f12:
      FaultCase(
        rules: #"[{"id":"F12","what":"answers","when":{"token":"\#(token(2))","times":1}},"#
          + #"{"id":"F12","what":"everything","when":{"nth":80}},{"id":"F12","what":"settings","#
          + #""when":{"connection":2}}]"#,
        failures: expect(
          // By its own deadline, or by the PING that finds its connection silent.
          delivered, ("a silent stream is found", { $0.foundSilence }),
          ("it is sent again", { $0.receipt(2)?.attempts ?? 0 >= 2 })))
    case .f14:
      FaultCase(
        rules: #"[{"id":"F14","profile":"lognormal","median":"30ms","p99":"200ms"}]"#,
        failures: expect(delivered, uncounted))
    case .f17:
      FaultCase(
        rules: "["
          + ["expired", "http_1_1", "wrong_host"].enumerated().map {
            #"{"id":"F17","tls":"\#($1)","when":{"connection":\#($0 + 1)}}"#
          }.joined(separator: ",") + "]",
        failures: expect(
          delivered, uncounted, ("three were given up", { $0.counter("connections_lost") >= 3 })))
    case .f18:
      FaultCase(
        rules: #"[{"id":"F18","when":{"address":"127.0.0.1"}}]"#,
        simulator: ["--listen-also", "127.0.0.2"],
        failures: expect(delivered, uncounted))
    case .f19:
      FaultCase(
        rules: #"[{"id":"F19","when":{"times":2}}]"#,
        failures: expect(delivered, uncounted, lost))
    case .f24:
      FaultCase(
        rules: #"[{"id":"F24","when":{"errors":5}},"#
          + #"{"id":"F01","status":400,"reason":"BadTopic","when":{"every":10}}]"#,
        failures: expect(
          (
            "refusals are final",
            { $0.receipts.allSatisfy { $0.status == 200 || $0.status == 400 } }
          ),
          ("it was disconnected", { $0.counter("go_aways") > 0 })))
    default:  // F27
      FaultCase(
        rules: #"[{"id":"F27","when":{"idle":"200ms","connection":1}},"#
          + #"{"id":"F27","with":"silence","when":{"idle":"200ms","connection":2}}]"#,
        pause: 1_500, failures: expect(delivered))
    }
  }
}
