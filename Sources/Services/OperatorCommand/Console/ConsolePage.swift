// SPDX-License-Identifier: Apache-2.0

/// The console's page: HTML, style and script in one, with nothing from elsewhere.
enum ConsolePage {
  static let bytes = Array(text.utf8)

  private static let text = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
    script-src 'unsafe-inline'; connect-src 'self'; img-src data:">
    <link rel="icon" href="data:,">
    <title>Martlet</title>
    <style>\(style)</style>
    </head>
    <body>
    \(body)
    <script>\(script)</script>
    </body>
    </html>

    """

  private static let style = """
    :root { color-scheme: light dark; --line: #8886; --good: #1a7f37; --bad: #c62828; --soft: #8881 }
    @media (prefers-color-scheme: dark) { :root { --good: #57c776; --bad: #ff7b72 } }
    :focus-visible { outline: 3px solid var(--good); outline-offset: 2px }
    button { font: inherit; padding: .1rem .7rem }
    button[aria-pressed=true] { color: var(--bad); font-weight: 600 }
    .scroll { overflow-x: auto }
    body { background: Canvas; color: CanvasText; font: 15px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 72rem; padding: 1rem }
    header { display: flex; gap: 1rem; align-items: baseline; flex-wrap: wrap }
    h1 { font-size: 1.4rem; margin: 0 } h2 { font-size: 1rem; margin: 1.6rem 0 .5rem }
    #state { font-weight: 600 } .good { color: var(--good) } .bad { color: var(--bad) }
    #time { margin-left: auto; opacity: .7 }
    ol.flow { display: flex; flex-wrap: wrap; gap: .5rem 0; list-style: none; margin: 0; padding: 0 }
    ol.flow li { display: flex; align-items: center }
    ol.flow li + li::before { content: "→"; margin: 0 .6rem; opacity: .6 }
    .box { border: 1px solid var(--line); border-radius: .5rem; padding: .5rem .8rem; min-width: 7rem }
    .box b { display: block } .box span { font-variant-numeric: tabular-nums }
    .box.bad { border-color: var(--bad) }
    #warnings { padding-left: 1.2rem } #warnings li { color: var(--bad) }
    table { border-collapse: collapse; width: 100% }
    th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line) }
    td.number, th.number { text-align: right; font-variant-numeric: tabular-nums }
    svg { width: 100%; height: 6rem; background: var(--soft); border-radius: .5rem }
    polyline { fill: none; stroke: var(--good); stroke-width: 2; vector-effect: non-scaling-stroke }
    dl { display: grid; grid-template-columns: fit-content(45%) 1fr; gap: .2rem 1rem; margin: 0 }
    dt { opacity: .7 } dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums }
    """

  private static let body = """
    <header>
      <h1>Martlet</h1>
      <p id="state" role="status" aria-live="polite">Reading …</p>
      <p id="time"></p>
      <button id="pause" type="button" aria-pressed="false">Pause</button>
    </header>
    <main>
    <ul id="warnings" aria-live="polite" aria-label="What needs a look"></ul>
    <h2>Pipeline</h2>
    <ol class="flow" id="flow"></ol>
    <h2>Delivered per second, the last two minutes</h2>
    <svg id="chart" role="img" aria-label="No reading yet" viewBox="0 0 119 100" preserveAspectRatio="none">
    <polyline id="line" points=""/></svg>
    <h2>Figures</h2>
    <dl id="figures"></dl>
    <h2 id="processes-title">Processes</h2>
    <div class="scroll" role="region" tabindex="0" aria-labelledby="processes-title">
    <table aria-labelledby="processes-title">
    <thead><tr><th scope="col">Process</th><th scope="col">State</th>
    <th scope="col" class="number">CPU</th><th scope="col" class="number">Memory</th></tr></thead>
    <tbody id="processes"></tbody>
    </table>
    </div>
    <noscript><p>This page needs JavaScript; <code>martlet status</code> shows the same in a terminal.</p></noscript>
    </main>
    """
}
