/** The whole style of the page. One accent colour; the others belong to outcomes, which also have a shape and a word. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --paper: #f6f7f9; --card: #fff; --ink: #1a2129; --quiet: #5c6873; --line: #dfe3e8; --hover: #f1f5f8;
  --accent: #0b6e99; --good: #1c7c43; --bad: #b3261e; --warning: #8a5a00; --fresh: #d9edf6;
  --row: 2.75rem;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161b; --card: #1a2027; --ink: #e5e9ee; --quiet: #98a4b0; --line: #2c353f; --hover: #212932;
    --accent: #63b8de; --good: #62c98a; --bad: #ff8f86; --warning: #e5b454; --fresh: #1d3a49;
  }
}
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 76rem; padding: 2rem 1.5rem 3rem; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; -webkit-text-size-adjust: 100% }
h1 { margin: 0; font-size: 1.6rem; line-height: 1.2; letter-spacing: -.01em }
h2 { margin: 0 0 .4rem; font-size: .95rem }
p { margin: 0 }
a { color: var(--accent) }
a:not(:hover) { text-decoration-color: color-mix(in srgb, currentColor 40%, transparent) }
code, pre, .copy, dt { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: .9em }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 3px }
.lead { margin-top: .25rem; color: var(--quiet) }
.lead strong { color: var(--ink) }
.facts { display: flex; flex-wrap: wrap; gap: .5rem 2.5rem; margin: 1rem 0 1.75rem }
.facts dt { font-family: inherit; font-size: .8rem; color: var(--quiet) }
.facts dd { margin: 0; overflow-wrap: anywhere }

form { display: flex; flex-wrap: wrap; align-items: end; gap: .6rem .75rem; margin-bottom: 1.25rem }
label { font-size: .8rem; color: var(--quiet) }
input { display: block; margin-top: .15rem; padding: .4rem .6rem; min-width: 0; border: 1px solid var(--line); border-radius: 6px; background: var(--card); color: var(--ink); font: inherit; font-size: .95rem }
button { padding: .4rem 1rem; border: 1px solid var(--accent); border-radius: 6px; background: transparent; color: var(--accent); font: inherit; font-size: .95rem; cursor: pointer }
button:hover { background: var(--accent); color: var(--card) }
form a { padding: .45rem .25rem }
.summary { margin-bottom: .6rem; color: var(--quiet); font-variant-numeric: tabular-nums }
.summary strong:not(.bad) { color: var(--ink) }

table { width: 100%; border-spacing: 0; background: var(--card); border: 1px solid var(--line); border-radius: 10px }
th, td { padding: 0 .75rem; text-align: left; white-space: nowrap }
th { height: 2.25rem; font-size: .8rem; font-weight: 500; color: var(--quiet) }
tbody tr:first-child > td { height: var(--row); border-top: 1px solid var(--line) }
tbody:hover > tr:first-child > td { background: var(--hover) }
tbody:last-child > tr:first-child > td:first-child { border-bottom-left-radius: 9px }
tbody:last-child > tr:first-child > td:last-child { border-bottom-right-radius: 9px }
tbody.wrong > tr:first-child > td:first-child { box-shadow: inset 3px 0 var(--bad) }
tbody.fresh > tr:first-child > td { animation: fresh 3s ease-out }
@keyframes fresh { from { background: var(--fresh) } }
.when { min-width: 6.2rem; color: var(--quiet); font-variant-numeric: tabular-nums }
.mark { display: flex; align-items: center; gap: .45rem; font-weight: 500 }
.mark svg { flex: none; width: 14px; height: 14px; fill: currentColor }
.mark .cut { fill: none; stroke: var(--card); stroke-width: 1.8; stroke-linecap: round }
.mark .line, .mark .ring { fill: none; stroke: currentColor; stroke-width: 2.4 }
.good { color: var(--good) } .bad { color: var(--bad) } .warning { color: var(--warning) } .open, .currency { color: var(--quiet) }
th.amount, td.amount { text-align: right }
.number { font-variant-numeric: tabular-nums; font-weight: 500 }
.fraction { display: inline-block; text-align: left; width: 0 }
.decimals-1 .fraction { width: calc(1ch + .3em) } .decimals-2 .fraction { width: calc(2ch + .3em) } .decimals-3 .fraction { width: calc(3ch + .3em) } .decimals-4 .fraction { width: calc(4ch + .3em) }
.currency { display: inline-block; width: 2.2rem; font-size: .85em; text-align: left }
.client-order { max-width: 18rem }
td > .copy { display: block; overflow: hidden; text-overflow: ellipsis }
.copy { -webkit-user-select: all; user-select: all; overflow-wrap: anywhere }
.copy[role] { cursor: copy }
.copy[role]:hover { color: var(--accent) }
.copy.copied::after { content: "copied"; margin-left: .5em; padding: .05em .5em; border-radius: 4px; background: var(--accent); color: var(--card); font: 500 .75rem/1.5 system-ui, sans-serif }

.more > td { position: relative; height: 0; white-space: normal }
summary { position: absolute; right: 0; bottom: 100%; width: 3rem; height: var(--row); display: grid; place-items: center; cursor: pointer; list-style: none }
summary::-webkit-details-marker { display: none }
summary::after { content: ""; width: .5rem; height: .5rem; border: solid var(--quiet); border-width: 0 2px 2px 0; transform: translateY(-25%) rotate(45deg); transition: transform .15s }
details[open] > summary { top: calc(-1 * var(--row)); bottom: auto }
details[open] > summary::after { transform: translateY(25%) rotate(225deg) }
summary:hover::after { border-color: var(--accent) }
.inside { display: grid; gap: 1.25rem; padding: .5rem 0 1.5rem }
.signed { padding: .6rem .8rem; border: 1px solid var(--line); border-radius: 6px; background: var(--paper); overflow-wrap: anywhere }
.part { border-bottom: 2px solid var(--accent) }
.part:nth-child(even) { border-bottom-style: dotted }
.part.key { border-bottom-color: var(--quiet); color: var(--quiet) }
.note { margin-top: .4rem; max-width: 60rem; font-size: .85rem; color: var(--quiet) }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(26rem, 100%), 1fr)); gap: 0 2rem; margin: 0 }
.fields > div { display: grid; grid-template-columns: 12.5rem 1fr; gap: .75rem; padding: .3rem 0; border-top: 1px solid var(--line) }
.fields dt { color: var(--quiet); overflow-wrap: anywhere }
.fields dd { margin: 0; overflow-wrap: anywhere }
i { color: var(--quiet) }
nav { display: flex; gap: 1.5rem; margin-top: .9rem }
.empty { padding: 2.5rem clamp(1rem, 5vw, 3rem); background: var(--card); border: 1px solid var(--line); border-radius: 10px }
.empty h2 { font-size: 1.2rem }
main:has(.first) form { display: none }
.empty p { max-width: 42rem }
.empty pre { margin: 1.25rem 0; padding: .9rem 1.1rem; overflow-x: auto; border-radius: 8px; background: var(--paper); border: 1px solid var(--line); line-height: 1.7 }
.empty i { color: var(--accent) }
footer { margin-top: 1.5rem; font-size: .85rem; color: var(--quiet) }
#state.lost { color: var(--bad) }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }

@media (max-width: 60rem) {
  body { padding: 1.25rem 1rem 2.5rem }
  label { flex: 1 1 6.5rem } input { width: 100% }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  table, .more, .more > td { display: block }
  table { border: 0; background: none }
  tbody { position: relative; display: block; margin-bottom: .6rem; background: var(--card); border: 1px solid var(--line); border-radius: 10px; overflow: hidden }
  tbody.wrong { box-shadow: inset 3px 0 var(--bad) }
  tbody > tr:first-child { display: grid; grid-template: "status amount" auto "client client" auto "order type" auto "when control" auto / 1fr auto; gap: .3rem 1rem; padding: .8rem 1rem .7rem }
  tbody tr:first-child > td { height: auto; padding: 0; border: 0; box-shadow: none }
  tbody:hover > tr:first-child > td, tbody.wrong > tr:first-child > td:first-child { background: none; box-shadow: none }
  tbody.fresh { animation: fresh 3s ease-out } tbody.fresh > tr:first-child > td { animation: none }
  tbody tr:first-child > td:last-child { display: none }
  td.status { grid-area: status } td.amount { grid-area: amount } td.client-order { grid-area: client; max-width: none; min-width: 0 }
  td.order { grid-area: order } td.type { grid-area: type; text-align: right } td.when { grid-area: when } td.control { grid-area: control; justify-self: end; display: flex; gap: .6rem; color: var(--quiet) } td.control::before { content: "control" }
  td.type, td.order { color: var(--quiet); font-size: .9rem }
  .fraction, .currency { width: auto !important }
  .more > td { height: auto; padding: 0 1rem }
  summary, details[open] > summary { position: static; width: auto; height: 2.1rem; margin: 0 -1rem; border-top: 1px solid var(--line) }
  summary { grid-auto-flow: column; justify-content: center; gap: .6rem; font-size: .85rem; color: var(--quiet) }
  summary > .unseen { position: static; width: auto; height: auto; clip-path: none }
  .inside { padding-top: .75rem }
  .fields > div { grid-template-columns: 8.5rem 1fr }
}
@media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important } }
`
