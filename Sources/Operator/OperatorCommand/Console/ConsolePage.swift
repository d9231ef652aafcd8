// SPDX-License-Identifier: Apache-2.0
import ConsoleFiles
import HTTPServer

/// The console's page, style and script; nothing is loaded from elsewhere.
enum ConsolePage {
  static let routes = [
    route("/", "text/html; charset=utf-8", ConsoleFile.page),
    route("/console.css", "text/css; charset=utf-8", ConsoleFile.style),
    route("/console.js", "text/javascript; charset=utf-8", ConsoleFile.script),
  ]

  /// The content security policy of the page: load its own style and script, and ask its own server.
  private static let policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    + " form-action 'none'; frame-ancestors 'none'"

  private static func route(_ path: String, _ type: String, _ bytes: [UInt8]) -> HTTPRoute {
    HTTPRoute("GET", path) { _ in
      unstored(HTTPResponse(contentType: type, body: .bytes(bytes)))
    }
  }

  /// Adds the page's policy, and forbids caching: a later version of the console must not get an older script.
  static func unstored(_ response: HTTPResponse) -> HTTPResponse {
    var response = response
    response.headers += [
      ("Content-Security-Policy", policy), ("Referrer-Policy", "no-referrer"),
      ("Cache-Control", "no-store"),
    ]
    return response
  }
}
