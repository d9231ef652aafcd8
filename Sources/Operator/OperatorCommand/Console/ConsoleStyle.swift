// SPDX-License-Identifier: Apache-2.0

extension ConsolePage {
  static let style = """
    :root {
      color-scheme: light dark;
      --ground: #f5f6f8; --card: #ffffff; --text: #1b2430; --soft: #55606e; --line: #d8dde4;
      --good: #17722f; --warn: #8a5a00; --bad: #b3261e; --flow: #2f6feb;
      --good-tint: #e3f4e7; --warn-tint: #fdf1d8; --bad-tint: #fce8e6;
    }
    @media (prefers-color-scheme: dark) {
      :root {
        --ground: #10151c; --card: #182029; --text: #e4e9ef; --soft: #9aa7b5; --line: #2c3743;
        --good: #57c776; --warn: #e3b341; --bad: #ff8a80; --flow: #6ea8fe;
        --good-tint: #12301c; --warn-tint: #33280c; --bad-tint: #3a1715;
      }
    }
    * { box-sizing: border-box }
    body { background: var(--ground); color: var(--text); font: 15px/1.5 system-ui, sans-serif; margin: 0 auto;
      max-width: 76rem; padding: 1rem 1.25rem 3rem }
    [hidden] { display: none !important }
    :focus-visible { outline: 3px solid var(--flow); outline-offset: 2px; border-radius: .3rem }
    header { display: flex; gap: .5rem 1rem; align-items: center; flex-wrap: wrap; margin-bottom: 1rem }
    header p { margin: 0 }
    h1 { font-size: 1.35rem; letter-spacing: -.01em; margin: 0 }
    h2 { font-size: .95rem; margin: 0 0 .6rem }
    section { margin: 1rem 0 }
    button { font: inherit; color: inherit; background: var(--card); border: 1px solid var(--line); border-radius: .4rem;
      padding: .2rem .8rem; cursor: pointer }
    button:hover { border-color: var(--soft) }
    button[aria-pressed=true] { color: var(--warn); border-color: var(--warn); font-weight: 600 }
    #state { font-weight: 650; padding: .15rem .8rem; border-radius: 1rem; border: 1px solid var(--line) }
    #state::before { content: ""; display: inline-block; width: .6rem; height: .6rem; border-radius: 50%;
      background: currentColor; margin-right: .5rem }
    #state.good { background: var(--good-tint); border-color: transparent }
    #state.warn { background: var(--warn-tint); border-color: transparent }
    #state.bad { background: var(--bad-tint); border-color: transparent }
    .good { color: var(--good) } .warn { color: var(--warn) } .bad { color: var(--bad) } .soft { color: var(--soft) }
    #time { margin-left: auto; color: var(--soft); font-variant-numeric: tabular-nums }
    #stale { background: var(--bad-tint); color: var(--bad); border-radius: .5rem; padding: .6rem .9rem; font-weight: 600;
      overflow-wrap: anywhere }
    main.stale { filter: grayscale(1); opacity: .75 }
    .card { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem }
    #problems, #blocked-part { border-left: 4px solid var(--warn); background: var(--card); border-radius: .4rem;
      padding: .8rem 1rem; box-shadow: 0 0 0 1px var(--line) }
    .blocked #problems, #blocked-part { border-left-color: var(--bad) }
    #warnings { margin: 0; padding-left: 1.1rem } #warnings li { overflow-wrap: anywhere; margin: .15rem 0 }
    .scroll { overflow-x: auto }
    .pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1rem }
    .pair section { margin: 0 }
    ol.flow { display: flex; flex-wrap: wrap; gap: .5rem 0; list-style: none; margin: 0; padding: 0 }
    ol.flow li { display: flex; align-items: stretch; flex: 1 0 auto }
    ol.flow li + li::before { content: "→"; align-self: center; margin: 0 .5rem; color: var(--soft) }
    .box { background: var(--card); border: 1px solid var(--line); border-top: 3px solid var(--good); border-radius: .5rem;
      padding: .45rem .8rem .6rem; min-width: 7.5rem; flex: 1 }
    .box b { display: block } .box span { display: block; color: var(--soft); font-variant-numeric: tabular-nums }
    .box.bad { border-color: var(--bad); color: inherit } .box.bad b { color: var(--bad) }
    table { border-collapse: collapse; width: 100% }
    th, td { text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line); vertical-align: top }
    tbody tr:last-child > * { border-bottom: 0 }
    thead th { color: var(--soft); font-weight: 500; font-size: .85rem } tbody th { font-weight: 500 }
    td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
    th:last-child, td:last-child { padding-right: 0 }
    .chart { display: grid; grid-template-columns: auto 1fr; gap: 0 .6rem }
    .scale, .times { color: var(--soft); font-size: .8rem; font-variant-numeric: tabular-nums; display: flex;
      justify-content: space-between }
    .scale { flex-direction: column; text-align: right; line-height: 1 } .times { grid-column: 2; padding-top: .25rem }
    svg { display: block; width: 100%; height: 9rem }
    polyline, .grid { fill: none; stroke-width: 2; vector-effect: non-scaling-stroke }
    #line { stroke: var(--flow) } #failed-line { stroke: var(--bad) }
    .grid { stroke: var(--line); stroke-width: 1 }
    .legend { float: right; margin: -1.9rem 0 0; font-size: .85rem; color: var(--soft) }
    .legend span::before { content: ""; display: inline-block; width: .9rem; height: .2rem; margin: 0 .35rem .2rem .6rem;
      vertical-align: middle; background: var(--flow) }
    .legend .failed-key::before { background: var(--bad) }
    .legend .ended-key::before { background: var(--good) } .legend .addressed-key::before { background: var(--flow) }
    th.wide { width: 40% }
    .bar { display: block; position: relative; height: .6rem; min-width: 7rem; margin-top: .2rem; border-radius: .3rem;
      background: var(--line); overflow: hidden }
    .bar i { position: absolute; inset: 0 auto 0 0; background: var(--flow) }
    .bar i + i { background: var(--good) } .bar.bad i + i { background: var(--bad) }
    .count { font-variant-numeric: tabular-nums } #campaigns td { overflow-wrap: anywhere; min-width: 5rem }
    dl { display: grid; grid-template-columns: fit-content(45%) minmax(0, 1fr); gap: .25rem 1rem; margin: 0 }
    dt { color: var(--soft) } dd { margin: 0; overflow-wrap: break-word; font-variant-numeric: tabular-nums }
    @media (max-width: 40rem) {
      .legend { float: none; margin: -.4rem 0 .4rem -.6rem }
      ol.flow { display: grid; grid-template-columns: 1fr 1fr; gap: .5rem } ol.flow li + li::before { content: none }
      .box { min-width: 0; overflow-wrap: anywhere }
      th, td { padding-right: .5rem }
      .card, #problems, #blocked-part { padding: .7rem .75rem }
      #blocked tr { display: flex; flex-wrap: wrap; gap: 0 .8rem; padding: .3rem 0; border-bottom: 1px solid var(--line) }
      #blocked th, #blocked td { border: 0; padding: 0; min-width: 0; overflow-wrap: anywhere; text-align: left }
      #blocked-scroll table, #blocked { display: block }
      #blocked-scroll thead { position: absolute; clip-path: inset(50%); height: 1px; width: 1px; overflow: hidden }
      #blocked td.number::before { content: "for " } #blocked td.number + td.number::before { content: "waiting " }
    }
    """
}
