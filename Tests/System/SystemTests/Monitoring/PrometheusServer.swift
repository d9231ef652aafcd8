// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPClient
import Records
import TestSupport

/// Debian's Prometheus on a free port of the loopback, with status pages to scrape every half second.
final class PrometheusServer {
  private let program: BuiltProgram
  private let url: String
  private let client = HTTPClient(timeoutMilliseconds: 30_000)

  /// - Parameters:
  ///   - targets: `http://host:port` of status pages.
  ///   - rules: the text of a file of rules.
  init(scraping targets: [String], rules: String, in folder: TemporaryFolder) throws {
    let hosts = targets.map { "'\($0.dropFirst("http://".count))'" }.joined(separator: ", ")
    let configuration = """
      global: {scrape_interval: 500ms, scrape_timeout: 500ms, evaluation_interval: 500ms}
      rule_files: [rules.yaml]
      scrape_configs: [{job_name: martlet, static_configs: [{targets: [\(hosts)]}]}]

      """
    try File.write(folder.file("prometheus.yaml"), Array(configuration.utf8))
    try File.write(folder.file("rules.yaml"), Array(rules.utf8))
    let address = "127.0.0.1:\(try FreePort.find())"
    url = "http://\(address)"
    program = try BuiltProgram.start(
      path: try SystemProgram.prometheus(),
      [
        "--config.file=\(folder.file("prometheus.yaml"))", "--web.listen-address=\(address)",
        "--storage.tsdb.path=\(folder.file("prometheus"))", "--log.level=warn",
      ], in: folder)
    guard eventually({ (try? self.isReady()) == true }) else {
      throw PrometheusProblem(description: "it is not ready: \(program.output)")
    }
  }

  private func isReady() throws -> Bool { try client.get("\(url)/-/ready").status == 200 }

  /// The series of an expression now.
  func query(_ expression: String) throws -> [JSONValue] {
    let form = "query=\(Self.encoded(expression))"
    let answer = try client.post(
      "\(url)/api/v1/query", Array(form.utf8), contentType: "application/x-www-form-urlencoded")
    let root = try JSONDocument(answer.body).root
    guard answer.status == 200, let result = root["data"]?["result"]?.array else {
      throw PrometheusProblem(description: "\(expression): \(answer.text)")
    }
    return result
  }

  /// The value of a series; nil for NaN, as of a quantile of nothing.
  static func value(_ series: JSONValue) -> Double? {
    guard let text = series["value"]?.array?.last?.string, let value = Double(text) else {
      return nil
    }
    return value.isNaN ? nil : value
  }

  /// Every alerting rule: name, `ok` or not with the reason, and its alerts.
  func rules() throws -> [JSONValue] {
    let answer = try client.get("\(url)/api/v1/rules")
    let groups = try JSONDocument(answer.body).root["data"]?["groups"]?.array ?? []
    return groups.flatMap { $0["rules"]?.array ?? [] }
  }

  /// The alerts of a rule that are pending or fire, as their labels.
  func alerts(_ name: String) throws -> [JSONValue] {
    try rules().first { $0["name"]?.string == name }?["alerts"]?.array ?? []
  }

  private static func encoded(_ text: String) -> String {
    text.utf8.map { byte in
      let isPlain =
        (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
      let digits = String(byte, radix: 16, uppercase: true)
      return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + digits
    }.joined()
  }
}

/// What Prometheus did not do.
struct PrometheusProblem: Error, CustomStringConvertible {
  let description: String
}
