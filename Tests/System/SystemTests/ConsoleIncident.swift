// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import TestSupport

/// A fault of the alert table, as console and `martlet status` have to show it, and its end.
struct ConsoleIncident: Sendable {
  let name: String
  let headline: String
  /// On the page, whatever else is there.
  let texts: [String]
  let begin: @Sendable (AlertRig) throws -> Void
  let end: @Sendable (AlertRig) throws -> Void

  /// What `martlet status` exits with.
  var status: Int32 { ["Ready": 0, "Blocked": 1][headline] ?? 3 }

  /// In this order: what cannot be taken back comes last.
  static let all = gateway + processes + data + [gone]

  /// The short form: those that are over soon after their end. All of them with `MARTLET_TEST_ALL_FAULTS=1`, as in
  /// `scripts/test --full`; and some by their names, as in `MARTLET_TEST_ALL_FAULTS="a proxy answers,Kafka down"`.
  static var selected: [ConsoleIncident] {
    let short =
      "app refused,bad device tokens,signer hangs,certificate near its end,gateway refusing"
    let names = getenv("MARTLET_TEST_ALL_FAULTS").map { String(cString: $0) } ?? short
    guard names != "1" else { return all }
    let wanted = names.split(separator: ",").map(String.init)
    return all.filter { wanted.contains($0.name) }
  }

  private static func answers(
    _ name: String, _ headline: String, _ texts: [String], _ rule: String
  ) -> ConsoleIncident {
    ConsoleIncident(
      name: name, headline: headline, texts: texts,
      begin: { try $0.rig.addGatewayFaults("[\(rule)]") }, end: { try $0.rig.clearGatewayFaults() })
  }

  private static let gateway = [
    answers(
      "app refused", "Degraded",
      ["com.example.chat", "InvalidProviderToken", "/any", "production"],
      #"{"id":"any_answer","reason":"InvalidProviderToken","when":{"app":"com.example.chat"}}"#),
    answers(
      "credential refused", "Blocked", ["InvalidProviderToken", "APNs (blocked)"],
      #"{"id":"any_answer","reason":"InvalidProviderToken"}"#),
    answers(
      "bad device tokens", "Degraded", ["BadDeviceToken", "FAILS"],
      #"{"id":"any_answer","reason":"BadDeviceToken"}"#),
    answers(
      "a proxy answers", "Blocked", ["gateway fails", "answers in its place"],
      #"{"id":"unexpected_answer","form":"foreign"}"#),
    answers(
      "gateway slow", "Degraded", ["APNs answers slowly"],
      #"{"id":"added_latency","profile":"constant","time":"8s"}"#),
    answers(
      "gateway silent", "Blocked", ["gateway fails", "APNs (blocked)"],
      #"{"id":"black_hole","what":"everything"}"#),
  ]

  private static let processes = [
    ConsoleIncident(
      name: "signer hangs", headline: "Degraded", texts: ["signer", "UNREACHABLE"],
      begin: { $0.rig["martlet-signer"].signal(SIGSTOP) },
      end: { $0.rig["martlet-signer"].signal(SIGCONT) }),
    ConsoleIncident(
      name: "ingest hangs", headline: "Blocked", texts: ["Ingest (blocked)", "UNREACHABLE"],
      begin: { $0.rig["martlet-ingest"].signal(SIGSTOP) },
      end: { $0.rig["martlet-ingest"].signal(SIGCONT) }),
    ConsoleIncident(
      name: "Kafka down", headline: "Blocked",
      texts: ["NOT READY", "Ingest (blocked)", "Senders (blocked)"],
      begin: { try $0.rig.setBroker(#"{"up":false}"#) },
      end: { try $0.rig.setBroker(#"{"up":true}"#) }),
    ConsoleIncident(
      name: "write right missing", headline: "Blocked",
      texts: ["sender: needs Write on topic push.receipts"],
      begin: { try $0.rig.setTopic(#"{"topic":"push.receipts","error":"topic_not_authorized"}"#) },
      end: { try $0.rig.setTopic(#"{"topic":"push.receipts"}"#) }),
  ]

  private static let data = [
    ConsoleIncident(
      name: "certificate near its end", headline: "Degraded",
      texts: ["a client certificate expires in 10 d"],
      begin: {
        try $0.writeCertificate(days: 10)
        $0.rig["martlet-sender"].signal(SIGHUP)
      },
      end: {
        try $0.writeCertificate(days: 300)
        $0.rig["martlet-sender"].signal(SIGHUP)
      }),
    ConsoleIncident(
      name: "credentials refused by the signer", headline: "Degraded",
      texts: ["a changed file is refused", "credentials"],
      begin: {
        let file = $0.rig.keys + "/credentials.json"
        try File.write(file + ".before", try File.read(file))
        try File.write(file, Array("{".utf8))
        $0.rig["martlet-signer"].signal(SIGHUP)
      },
      end: {
        let file = $0.rig.keys + "/credentials.json"
        try File.write(file, try File.read(file + ".before"))
        $0.rig["martlet-signer"].signal(SIGHUP)
      }),
    ConsoleIncident(
      name: "database full", headline: "Degraded", texts: ["takes no transaction"],
      begin: {
        try $0.setShim("0 \($0.rig.folder.file("tokens.sqlite"))")
        try $0.rig.addGatewayFaults(
          #"[{"id":"any_answer","reason":"BadDeviceToken","when":{"app":"com.example.chat"}}]"#)
      },
      end: {
        try $0.setShim("0")
        try $0.rig.clearGatewayFaults()
      }),
  ]

  /// Nobody listens at the gateway's address any more.
  private static let gone = ConsoleIncident(
    name: "gateway refusing", headline: "Blocked",
    texts: ["no connection", "APNs (blocked)", "0 connections"],
    begin: { $0.rig["apns-simulator"].signal(SIGKILL) }, end: { _ in })
}
