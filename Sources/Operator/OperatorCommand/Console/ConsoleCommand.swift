// SPDX-License-Identifier: Apache-2.0
import EventLoop
import Glibc
import HTTPServer
import ServiceKit
import Settings

/// `martlet console`: one web page that shows the state of the pipeline.
enum ConsoleCommand: Command {
  struct Settings: DeclaredSettings, Sendable {
    var source = StatusSource()

    @Declared(
      .endpoint(
        "listen", default: "127.0.0.1:9480", "Where the page is; port 0 takes a free one."))
    var listen: Endpoint

    @Declared(
      .list(
        "names", placeholder: "NAME",
        "Names besides addresses and localhost under which the page answers, such as *.example.com."
      ))
    var names: [String]

    mutating func finish(_ values: SettingValues) throws(SettingErrors) {
      source = try StatusSource(values)
    }
  }

  static let name = "console"
  static let summary =
    "Serves one web page that shows the pipeline as it flows, live, from the status pages of its processes."
    + " It holds no secret, but do not expose it."
  static let table = SettingTable(declaredBy: Settings.self, operands: StatusSource.operands)

  static func run(_ settings: Settings, _ context: ServiceContext) throws(ServiceFailure) {
    let follower = StatusFollower(settings.source)
    let host = settings.listen.numericHost
    do {
      let server = try HTTPServer(
        host: host, port: settings.listen.port, bodyLimit: 0, idleSeconds: 30,
        names: settings.names,
        routes: ConsolePage.routes + [
          HTTPRoute("GET", "/status.json") { _ in ConsolePage.unstored(.json(follower.json)) }
        ])
      defer { withExtendedLifetime(server) {} }
      context.log(OperatorLog.console, ["url": "http://\(Endpoint(host: host, port: server.port))"])
      context.reportReady()
      follower.run(context)
    } catch {
      throw ServiceFailure("no console: \(error); --listen names another address")
    }
  }
}
