// SPDX-License-Identifier: Apache-2.0
import Crypto
import EventLoop
import HTTPClient
import Records
import TestSupport

/// What somebody on call has before them while a fault lasts: alerts, the canary, `martlet status`, `/readyz` and the
/// warnings of each log. The fault's name is not part of it: that is sealed.
struct OnCallRecord {
  private static let linesOfLog = 30
  /// The port that an instance has in a record: those of a test mean nothing.
  private static let port = ":9464"

  private let json: JSONValue

  /// - Parameter programs: those that Prometheus reads.
  init(_ alerts: AlertRig, _ prometheus: PrometheusServer, _ programs: [String]) throws {
    let client = HTTPClient(timeoutMilliseconds: 3_000)
    var (ready, logs) = (JSONObject(), JSONObject())
    for name in programs {
      let answer = try? client.get("\(alerts.page(name))/readyz")
      let text = answer.map { "\($0.status) \($0.text)" } ?? "no answer"
      ready.append(name, .string(Self.anonymous(text, alerts, programs)))
      logs.append(name, Self.lines(Self.warnings(of: alerts.rig[name]), alerts, programs))
    }
    let status = try BuiltProgram.run(
      ChildProcess.sibling("martlet"),
      ["status"] + programs.map { String(alerts.page($0).dropFirst("http://".count)) },
      in: alerts.rig.folder)
    let fired = try prometheus.rules().flatMap { $0["alerts"]?.array ?? [] }
      .filter { $0["state"]?.string == "firing" }
      .map { String(decoding: ($0["labels"] ?? .null).text, as: UTF8.self) }
    let canary = try prometheus.query("martlet_canary_success").first
      .flatMap(PrometheusServer.value)
    json = [
      "alerts": .array(
        try fired.map { try JSONDocument(Self.anonymous($0, alerts, programs)).root }),
      "canary": .string(canary == 1 ? "green" : "red"),
      "status": Self.lines(status.output.split(separator: "\n"), alerts, programs),
      "readyz": .object(ready), "logs": .object(logs),
    ]
  }

  /// Writes it as the next case of the folder, and seals the fault's name.
  func write(to folder: String, fault: String) throws {
    let number = (1...99).first { !File.exists("\(folder)/\(Self.file($0))") } ?? 99
    try File.write("\(folder)/\(Self.file(number))", json.text + [0x0A])
    let sealed = "\(folder)/\(Self.sealedFile)"
    let old = (try? File.read(sealed)) ?? []
    let line = "\(Self.file(number)) \(Self.seal(fault, of: Self.file(number)))\n"
    try File.write(sealed, old + Array(line.utf8))
  }

  static let sealedFile = "sealed.txt"

  static func file(_ number: Int) -> String { "case-\(number < 10 ? "0" : "")\(number).json" }

  /// What stands for the fault's name: nobody reads it by chance, and an answer can be compared with it.
  static func seal(_ fault: String, of file: String) -> String {
    SHA256Digest.of("\(file): \(fault)").map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
  }

  private static func warnings(of program: BuiltProgram) -> [Substring] {
    program.output.split(separator: "\n")
      .filter { $0.contains(" warning ") || $0.contains(" error ") }.suffix(linesOfLog)
  }

  private static func lines(
    _ lines: [Substring], _ alerts: AlertRig, _ programs: [String]
  ) -> JSONValue {
    .array(lines.map { .string(anonymous(String($0), alerts, programs)) })
  }

  /// Without what is of this run alone: instances are named as in a deployment, files lie in /srv.
  private static func anonymous(
    _ text: String, _ alerts: AlertRig, _ programs: [String]
  ) -> String {
    var text = text.replacing(alerts.rig.folder.path, with: "/srv")
    for name in programs {
      let page = String(alerts.page(name).dropFirst("http://".count))
      if !page.isEmpty { text = text.replacing(page, with: name + port) }
    }
    return text
  }
}
