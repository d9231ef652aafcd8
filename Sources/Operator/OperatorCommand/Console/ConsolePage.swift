// SPDX-License-Identifier: Apache-2.0
import HTTPServer

/// The console's page, style and script; nothing is loaded from elsewhere.
enum ConsolePage {
  static let routes = [
    route("/", "text/html; charset=utf-8", markup),
    route("/console.css", "text/css; charset=utf-8", style),
    route("/console.js", "text/javascript; charset=utf-8", script),
  ]

  /// The content security policy of the page: load its own style and script, and ask its own server.
  private static let policy =
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; base-uri 'none';"
    + " form-action 'none'; frame-ancestors 'none'"

  private static func route(_ path: String, _ type: String, _ text: String) -> HTTPRoute {
    let bytes = Array(text.utf8)
    return HTTPRoute("GET", path) { _ in
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

  private static let markup = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <link rel="icon" href="data:,">
    <link rel="stylesheet" href="console.css">
    <title>Martlet</title>
    </head>
    <body>
    <header>
      <h1>Martlet</h1>
      <p id="state" role="status" aria-live="polite">Reading …</p>
      <p id="time"></p>
      <button id="freeze" type="button" aria-pressed="false">Freeze display</button>
    </header>
    <p id="stale" role="alert" hidden></p>
    <main id="main">
    <section id="problems" aria-labelledby="problems-title" hidden>
    <h2 id="problems-title">Needs a look</h2>
    <ul id="warnings" aria-live="polite"></ul>
    </section>
    <section id="blocked-part" hidden>
    <h2 id="blocked-title">Blocked</h2>
    <div class="scroll" id="blocked-scroll" role="region" tabindex="0" aria-labelledby="blocked-title">
    <table aria-labelledby="blocked-title">
    <thead><tr><th scope="col">What</th><th scope="col">Reason</th><th scope="col">Credential</th>
    <th scope="col">Environment</th><th scope="col" class="number">For</th>
    <th scope="col" class="number">Wait in memory</th></tr></thead>
    <tbody id="blocked"></tbody>
    </table>
    </div>
    </section>
    <section aria-labelledby="flow-title">
    <h2 id="flow-title">Pipeline</h2>
    <ol class="flow" id="flow"></ol>
    </section>
    <section class="card" aria-labelledby="chart-title">
    <h2 id="chart-title">Notifications per second, the last hour</h2>
    <p class="legend"><span class="delivered-key">delivered</span> <span class="failed-key">failed</span></p>
    <div class="chart">
    <div class="scale" aria-hidden="true"><span id="top"></span><span id="half"></span><span>0</span></div>
    <svg id="chart" role="img" aria-label="No reading yet" viewBox="0 0 359 100" preserveAspectRatio="none">
    <path class="grid" d="M0 1H359M0 50H359M0 99H359"/>
    <polyline id="failed-line" points=""/><polyline id="line" points=""/></svg>
    <div class="times" aria-hidden="true"><span id="first"></span><span id="last"></span></div>
    </div>
    </section>
    <div class="pair">
    <section class="card" aria-labelledby="ended-title">
    <h2 id="ended-title">Outcomes</h2>
    <p class="soft">delivered: accepted by APNs. Nobody tells a provider what a device showed.</p>
    <table aria-labelledby="ended-title">
    <thead><tr><th scope="col">Outcome</th><th scope="col" class="number">Per second</th>
    <th scope="col" class="number">In total</th></tr></thead>
    <tbody id="ended"></tbody>
    </table>
    </section>
    <section class="card" aria-labelledby="waiting-title">
    <h2 id="waiting-title">Waiting</h2>
    <table aria-labelledby="waiting-title">
    <thead><tr><th scope="col">Where</th><th scope="col" class="number">Oldest</th>
    <th scope="col" class="number">In Kafka</th></tr></thead>
    <tbody id="waits"></tbody>
    </table>
    </section>
    </div>
    <section class="card" id="campaigns-part" aria-labelledby="campaigns-title" hidden>
    <h2 id="campaigns-title">Campaigns</h2>
    <p class="legend"><span class="ended-key">outcome known</span> <span class="addressed-key">addressed</span></p>
    <div class="scroll" id="campaigns-scroll" role="region" tabindex="0" aria-labelledby="campaigns-title">
    <table aria-labelledby="campaigns-title">
    <thead><tr><th scope="col">Campaign</th><th scope="col">State</th><th scope="col" class="wide">Addressed</th>
    <th scope="col" class="number">Rate</th><th scope="col" class="number">Time left</th>
    <th scope="col" class="number">Rejected</th></tr></thead>
    <tbody id="campaigns"></tbody>
    </table>
    </div>
    <p id="campaigns-more" class="soft" hidden></p>
    </section>
    <section class="card" aria-labelledby="figures-title">
    <h2 id="figures-title">Figures</h2>
    <dl id="figures"></dl>
    </section>
    <section class="card" aria-labelledby="processes-title">
    <h2 id="processes-title">Processes</h2>
    <div class="scroll" id="processes-scroll" role="region" tabindex="0" aria-labelledby="processes-title">
    <table aria-labelledby="processes-title">
    <thead><tr><th scope="col">Process</th><th scope="col">State</th>
    <th scope="col" class="number">CPU</th><th scope="col" class="number">Memory</th></tr></thead>
    <tbody id="processes"></tbody>
    </table>
    </div>
    </section>
    <noscript><p>This page needs JavaScript; <code>martlet status</code> shows the same in a terminal.</p></noscript>
    </main>
    <script src="console.js"></script>
    </body>
    </html>

    """
}
