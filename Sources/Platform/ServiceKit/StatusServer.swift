// SPDX-License-Identifier: Apache-2.0
import EventLoop
import HTTPServer
import Records
public import Settings
import Telemetry

/// The status pages of a process: `/metrics`, `/healthz`, `/readyz`, `/version`, `/debug/state`.
///
/// One thread of its own serves them from what the loops have written down, so that no client, however slow, holds
/// anything up: open connections are bounded, and those that do nothing are closed.
public struct StatusServer: Sendable {
  /// After so long without a byte a connection is closed.
  private static let idleSeconds: UInt32 = 10

  private let server: HTTPServer
  /// `http://127.0.0.1:43210`.
  public let url: String

  /// - Parameters:
  ///   - endpoint: port 0 takes a free one.
  ///   - names: names besides addresses and localhost under which the pages answer.
  public init(
    _ endpoint: Endpoint, names: [String] = [], _ context: ServiceContext
  ) throws(ServiceFailure) {
    let pages = StatusPages(context)
    let host = endpoint.numericHost
    do throws(HTTPServerError) {
      server = try HTTPServer(
        host: host, port: endpoint.port, bodyLimit: 0, idleSeconds: Self.idleSeconds,
        names: names,
        routes: [
          HTTPRoute("GET", "/metrics") { _ in pages.metrics },
          HTTPRoute("GET", "/healthz") { _ in pages.health },
          HTTPRoute("GET", "/readyz") { _ in pages.readiness },
          HTTPRoute("GET", "/version") { _ in pages.version },
          HTTPRoute("GET", "/debug/state") { _ in pages.state },
        ])
    } catch {
      throw ServiceFailure(
        "no status pages: \(error); --\(CommonSettings.http.name) names another address")
    }
    url = "http://\(Endpoint(host: host, port: server.port))"
  }
}

struct StatusPages: Sendable {
  private let context: ServiceContext
  private let process: ProcessMetrics

  init(_ context: ServiceContext) {
    self.context = context
    process = ProcessMetrics(program: context.name)
  }

  var metrics: HTTPResponse {
    let now = MonotonicClock.milliseconds()
    let wall = Int(WallClock.milliseconds())
    var samples = process.samples
    let unmet = Set(context.obstacles.map(\.condition))
    samples.append(MetricSample(ProgramMetrics.ready, unmet.isEmpty ? 1 : 0))
    samples += unmet.union(StatusBoard.conditions).sorted().map {
      MetricSample(ProgramMetrics.notReady, [$0], unmet.contains($0) ? 1 : 0)
    }
    samples.append(
      MetricSample(
        ProgramMetrics.unacknowledged, [],
        .thousandths(Int(clamping: context.status.unacknowledged))))
    for (thread, age) in context.status.ages(now: now) {
      samples.append(
        MetricSample(ProgramMetrics.heartbeat, [thread], .thousandths(wall - Int(age))))
    }
    let page = MetricText.page(samples + context.counters.samples)
    return HTTPResponse(contentType: MetricText.contentType, body: .bytes(Array(page.utf8)))
  }

  /// True if every thread turns. During a stop they have other things to do, and `stop-timeout` bounds it.
  var health: HTTPResponse {
    let stuck = context.status.stuck(now: MonotonicClock.milliseconds())
    guard !stuck.isEmpty, !context.signals.isStopping else {
      return json(["status": "ok"])
    }
    let threads = stuck.map { thread, age -> JSONValue in
      ["thread": .string(thread), "seconds_since_last_turn": .integer(Int64(age / 1_000))]
    }
    return json(["status": "stuck", "threads": .array(threads)], status: 503)
  }

  var readiness: HTTPResponse {
    let obstacles = context.obstacles
    guard !obstacles.isEmpty else { return json(["status": "ready"]) }
    let reasons = obstacles.map { obstacle -> JSONValue in
      ["condition": .string(obstacle.condition), "reason": .string(obstacle.reason)]
    }
    return json(["status": "not ready", "reasons": .array(reasons)], status: 503)
  }

  var version: HTTPResponse {
    let libraries = LoadedLibraries.versions.map {
      JSONObject.Member(key: $0.name, value: .string($0.version))
    }
    return json([
      "program": .string(context.name), "version": .string(Version.text),
      "commit": .string(Version.commit), "libraries": .object(JSONObject(libraries)),
    ])
  }

  var state: HTTPResponse {
    let now = MonotonicClock.milliseconds()
    var object = JSONObject()
    object.append("program", .string(context.name))
    object.append("version", .string(Version.text))
    object.append("not_ready", .array(context.obstacles.map { .string($0.reason) }))
    object.append(
      "threads",
      .object(
        JSONObject(
          context.status.ages(now: now).map {
            .init(
              key: $0.thread,
              value: ["milliseconds_since_last_turn": .integer(Int64($0.milliseconds))])
          })))
    for (name, value) in context.status.sections { object.append(name, value) }
    return json(.object(object))
  }

  private func json(_ value: JSONValue, status: Int = 200) -> HTTPResponse {
    .json(String(decoding: value.text + [10], as: UTF8.self), status: status)
  }
}
