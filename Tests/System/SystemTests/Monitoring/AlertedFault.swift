// SPDX-License-Identifier: Apache-2.0
import Contract
import EventLoop
import Feedback
import Glibc
import SenderDecisions
import ServiceKit
import Signer
import TestSupport
import Testing

/// A fault, the alert that it has to raise, and where its cause is named.
struct AlertedFault: Sendable, CustomTestStringConvertible {
  let name: String
  let alert: String
  /// Labels of the alert; an instance is given as the name of its program.
  let labels: [String: String]
  /// The program whose log names the cause, and the message.
  let log: (program: String, message: String)?
  /// Whether requests are produced all the time.
  var hasTraffic = true
  /// Whether pushes do not arrive because of it.
  var reddensCanary = true
  /// Part of the short form.
  var isShort = false
  /// Starts the programs.
  var prepare: @Sendable (AlertRig) throws -> Void = { try $0.startAll() }
  let inject: @Sendable (AlertRig) throws -> Void

  var testDescription: String { name }

  /// The short form; all of them with `MARTLET_TEST_ALL_FAULTS=1`, as in `scripts/test --full`; and one by its name, as
  /// in `MARTLET_TEST_ALL_FAULTS="DNS wrong"`.
  static var selected: [AlertedFault] {
    guard let value = getenv("MARTLET_TEST_ALL_FAULTS") else { return all.filter(\.isShort) }
    let name = String(cString: value)
    // Recorded cases are numbered as they come: their order must not tell which is which.
    return name == "1" ? recordFolder == nil ? all : all.shuffled() : all.filter { $0.name == name }
  }

  /// Where what the screens say during each fault is recorded: `MARTLET_TEST_RECORD=FOLDER`.
  static var recordFolder: String? { getenv("MARTLET_TEST_RECORD").map { String(cString: $0) } }

  static let all = gateway + credentials + kafka + data

  private static let gateway = [
    AlertedFault(
      name: "gateway silent", alert: "MartletDestinationFailing", labels: ["state": "gateway"],
      log: ("martlet-sender", SenderLog.connectionSilent.rawValue)
    ) { try $0.rig.addGatewayFaults(#"[{"id":"black_hole","what":"everything"}]"#) },
    AlertedFault(
      name: "gateway refusing", alert: "MartletDestinationFailing", labels: ["state": "connects"],
      log: ("martlet-sender", SenderLog.notConnected.rawValue)
    ) { $0.rig["apns-simulator"].signal(SIGKILL) },
    AlertedFault(
      name: "gateway slow", alert: "MartletGatewaySlow", labels: ["environment": "production"],
      log: nil
    ) {
      try $0.rig.addGatewayFaults(#"[{"id":"added_latency","profile":"constant","time":"8s"}]"#)
    },
    AlertedFault(
      name: "app refused", alert: "MartletAppRefused",
      labels: ["app": "com.example.app", "reason": "InvalidProviderToken"],
      log: ("martlet-sender", SenderLog.appRefused.rawValue), isShort: true
    ) {
      try $0.rig.addGatewayFaults(
        #"[{"id":"any_answer","reason":"InvalidProviderToken","when":{"app":"com.example.app"}}]"#)
    },
    AlertedFault(
      name: "DNS wrong", alert: "MartletDestinationFailing", labels: ["state": "connects"],
      log: ("martlet-sender", SenderLog.gatewayUnresolved.rawValue),
      prepare: {
        $0.rig.gateway = "no-such-host.invalid:443"
        try $0.startServices()
      }, inject: { _ in }),
  ]

  private static let credentials = [
    AlertedFault(
      name: "certificate near its end", alert: "MartletCertificateExpires", labels: [:],
      log: ("martlet-sender", SenderLog.certificateExpires.rawValue), hasTraffic: false,
      reddensCanary: false,
      prepare: {
        try $0.writeCertificate(days: 300)
        try $0.startAll(sender: ["--certificates", $0.certificates])
      },
      inject: {
        try $0.writeCertificate(days: 10)
        $0.rig["martlet-sender"].signal(SIGHUP)
      }),
    AlertedFault(
      name: "signer dead", alert: "MartletProcessDown", labels: ["instance": "martlet-signer"],
      log: nil, reddensCanary: false, isShort: true
    ) { $0.rig["martlet-signer"].signal(SIGKILL) },
    AlertedFault(
      name: "clock off", alert: "MartletClockDifference", labels: [:],
      log: ("martlet-signer", SignerLog.senderClockAhead.rawValue),
      prepare: {
        // It is two hours behind from its start: what it mints is too old for the senders, and they ask.
        try $0.rig.startSimulator()
        try $0.setShim("-7200000")
        try $0.startServices(underShim: "martlet-signer")
      }, inject: { _ in }),
  ]

  private static let kafka = [
    AlertedFault(
      name: "Kafka down", alert: "MartletStoreDown",
      labels: ["instance": "martlet-sender", "cause": "kafka_unreachable"], log: nil,
      hasTraffic: false, isShort: true
    ) { try $0.rig.setBroker(#"{"up":false}"#) },
    AlertedFault(
      name: "write right missing", alert: "MartletStoreDown",
      labels: ["instance": "martlet-ingest", "cause": "kafka_refuses"],
      log: ("martlet-ingest", ServiceKitLog.recordsRefused.rawValue), hasTraffic: false,
      isShort: true
    ) { rig in
      // The broker refuses everybody: what ingest writes comes from requests that are there before.
      let ingest = rig.rig["martlet-ingest"]
      ingest.signal(SIGSTOP)
      defer { ingest.signal(SIGCONT) }
      try rig.sendSome()
      let errors = Array(repeating: #""topic_not_authorized""#, count: 400)
      try rig.rig.injectErrors(
        #"{"request":"produce","errors":[\#(errors.joined(separator: ","))]}"#)
    },
    AlertedFault(
      name: "retention overrun", alert: "MartletRecordsLost",
      labels: ["instance": "martlet-ingest"],
      log: ("martlet-ingest", ServiceKitLog.recordsLost.rawValue),
      hasTraffic: false, reddensCanary: false
    ) { rig in
      let ingest = rig.rig["martlet-ingest"]
      ingest.signal(SIGSTOP)
      defer { ingest.signal(SIGCONT) }
      // Producers compress: what repeats would fit.
      let text = String(
        decoding: (0..<500_000).map { _ in UInt8.random(in: 48...122) }, as: UTF8.self)
      // One key: one partition, which holds ten of them.
      try rig.rig.produce(rig.rig.names.requests, 0..<40) { _ in ("k", text) }
    },
  ]

  private static let data = [
    AlertedFault(
      name: "database full", alert: "MartletStoreDown",
      labels: ["instance": "martlet-feedback", "cause": "database_refuses"],
      log: ("martlet-feedback", FeedbackLog.notWritten.rawValue), reddensCanary: false,
      prepare: {
        try $0.rig.startSimulator(unregistered: 0..<20_000)
        try $0.startServices(underShim: "martlet-feedback")
      }, inject: { try $0.setShim("0 \($0.rig.folder.file("tokens.sqlite"))") }),
    AlertedFault(
      name: "sandbox tokens in production", alert: "MartletBadTokenWave",
      labels: ["instance": "martlet-feedback"],
      log: ("martlet-feedback", FeedbackLog.badTokenWave.rawValue), isShort: true
    ) { try $0.rig.addGatewayFaults(#"[{"id":"any_answer","reason":"BadDeviceToken"}]"#) },
  ]
}
