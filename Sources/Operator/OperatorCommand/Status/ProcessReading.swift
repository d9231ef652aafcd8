// SPDX-License-Identifier: Apache-2.0
import HTTPClient
import Records
import Telemetry

struct ProcessReading: Sendable {
  enum State: Sendable, Equatable {
    case ready
    /// The causes of not being ready.
    case notReady([String])
    /// The reason why its pages could not be read.
    case unreachable(String)
  }

  let process: String
  let state: State
  /// The metrics; nil if the pages could not be read.
  let page: MetricPage?

  /// Requests a process's pages.
  ///
  /// - Parameters:
  ///   - name: The process's name; its program and address if nil.
  ///   - url: The address without a path, such as `http://127.0.0.1:9090`.
  static func ask(_ name: String?, _ url: String, _ client: HTTPClient) -> ProcessReading {
    do {
      let readiness = try client.get(url + "/readyz")
      let metrics = try client.get(url + "/metrics")
      guard metrics.status == 200 else {
        return unreachable(name ?? url, "\(url)/metrics answered \(metrics.status)")
      }
      let page = try MetricPage(metrics.text)
      return ProcessReading(process: name ?? named(url, page), state: state(readiness), page: page)
    } catch {
      return unreachable(name ?? url, "\(url): \(error)")
    }
  }

  private static func unreachable(_ process: String, _ cause: String) -> ProcessReading {
    ProcessReading(process: process, state: .unreachable(cause), page: nil)
  }

  /// The program and its address, because several processes can run the same program.
  private static func named(_ url: String, _ page: MetricPage) -> String {
    let program = page.values("martlet_build_info").first?.labels["program"] ?? "process"
    return "\(program) \(url.split(separator: "/").last ?? "")"
  }

  private static func state(_ answer: HTTPAnswer) -> State {
    if answer.status == 200 { return .ready }
    let reasons = (try? JSONDocument(answer.body))?.root["reasons"]?.array ?? []
    let texts = reasons.compactMap { $0["reason"]?.string ?? $0.string }
    return .notReady(texts.isEmpty ? ["/readyz answered \(answer.status)"] : texts)
  }
}
