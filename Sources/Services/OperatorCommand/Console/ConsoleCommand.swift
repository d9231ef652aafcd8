// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPServer
package import ServiceKit
package import Settings

/// `martlet console`: one web page that shows the state of the pipeline.
package enum ConsoleCommand: Service {
  package struct Settings: DeclaredSettings, Sendable {
    var source = StatusSource()

    @Declared(
      .endpoint(
        "listen", default: "127.0.0.1:9480", "Where the page is; port 0 takes a free one."))
    var listen: Endpoint

    package init() {}
  }

  package static let name = "console"
  package static let summary =
    "Serves one web page that shows the pipeline as it flows, live, from the status pages of its processes."
    + " It holds no secret, but do not expose it."
  package static let reportsCounters = false
  package static let table = SettingTable(
    declaredBy: Settings.self, operands: StatusSource.operands)

  package static func settings(_ values: SettingValues) throws(SettingErrors) -> Settings {
    var settings = Settings.reading(values)
    settings.source = try StatusSource(values)
    return settings
  }

  package static func run(
    _ settings: Settings, _ context: ServiceContext
  ) throws(ServiceFailure) {
    let follower = StatusFollower(settings.source)
    let host = settings.listen.numericHost
    do {
      let server = try HTTPServer(
        host: host, port: settings.listen.port, bodyLimit: 0, idleSeconds: 30,
        routes: [
          HTTPRoute("GET", "/") { _ in
            HTTPResponse(contentType: "text/html; charset=utf-8", body: .bytes(ConsolePage.bytes))
          },
          HTTPRoute("GET", "/status.json") { _ in .json(follower.json) },
        ])
      defer { withExtendedLifetime(server) {} }
      context.log.info("console", ["url": "http://\(host):\(server.port)"])
      context.reportReady()
      follower.run(context)
    } catch {
      throw ServiceFailure("no console: \(error); --listen names another address")
    }
  }
}
