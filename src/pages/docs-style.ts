/** The reference in the sandbox looks like its shop: paper, ink, one accent, panels. */
export const docsStyle = `
:root { --ink: #1a2129; --quiet: #5c6873; --line: #dfe3e8; --paper: #fff; --desk: #f6f7f9; --soft: #eef2f5; --accent: #0b6e99; --on-accent: #fff; --good: #1c7c43; --bad: #b3261e;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
@media (prefers-color-scheme: dark) { :root { --ink: #e5e9ee; --quiet: #98a4b0; --line: #2c353f; --paper: #1a2027; --desk: #12161b; --soft: #222a33; --accent: #63b8de; --on-accent: #0d1a22; --good: #62c98a; --bad: #ff8f86 } }
html { -webkit-text-size-adjust: 100% }
body { font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1.5rem 3rem; background: none; border: 0; border-radius: 0; min-height: 0 }
h1, h2, h3, p, dl, dd, ul { margin: 0; padding: 0 }
h1 { font-size: 1.6rem; line-height: 1.2; color: var(--ink); letter-spacing: -.01em; font-weight: 700 }
h2 { font-size: 1.05rem; margin-bottom: .6rem }
a { color: var(--accent) } a:not(:hover) { text-decoration-color: color-mix(in srgb, currentColor 40%, transparent) }
code { font-family: var(--mono); font-size: .9em; overflow-wrap: anywhere }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px }
.quiet { color: var(--quiet) } .good { color: var(--good) } .bad { color: var(--bad) }
.brand { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem 1.2rem; margin-bottom: 1.25rem }
.brand > a { display: flex; align-items: center; gap: .55rem; margin-right: auto; color: var(--ink); text-decoration: none; font-weight: 650; font-size: 1.05rem }
.brand svg { width: 28px; height: 28px } .brand nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .88rem }
.lead { max-width: 60rem; margin: .35rem 0 1.2rem; color: var(--quiet) }
.panel { min-width: 0; margin-bottom: 1.25rem; background: var(--paper); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.25rem }
.panel > p + *, .panel > pre + * { margin-top: .6rem }
.path { display: block; margin-top: .15rem; white-space: nowrap; overflow-x: auto }
.columns { display: grid; grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); gap: 0 1.25rem; align-items: start }
.fields { display: grid; grid-template-columns: repeat(auto-fill, minmax(13rem, 1fr)); gap: .7rem .9rem; margin-bottom: .9rem }
label { display: block; min-width: 0; font-size: .82rem; color: var(--quiet) } label code { color: var(--ink) } label em { color: var(--bad); font-style: normal }
input, select { display: block; width: 100%; margin-top: .15rem; padding: .45rem .6rem; border: 1px solid var(--line); border-radius: 8px; background: var(--paper); color: var(--ink); font: inherit; font-size: .92rem }
.control + .quiet { margin-top: .9rem }
table + .buttons { margin: .8rem 0 }
details { margin-bottom: .9rem } .panel > details:last-child { margin-bottom: 0 } summary { cursor: pointer; color: var(--accent) } details > .fields { margin-top: .7rem }
.buttons { display: flex; flex-wrap: wrap; align-items: center; gap: .6rem 1rem }
button { padding: .6rem 1.3rem; border: 1px solid var(--accent); border-radius: 8px; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; cursor: pointer }
button:hover { filter: brightness(1.08) } button.second { background: transparent; color: var(--accent) }
.notice { margin-bottom: .9rem; padding: .55rem .8rem; border-left: 3px solid var(--accent); background: var(--soft); border-radius: 0 8px 8px 0 } .notice .buttons { margin-top: .5rem } .notice.bad { border-color: var(--bad) }
.signed { margin: .3rem 0 .6rem; line-height: 2 } .part { display: inline-block; max-width: 100%; line-height: 1.35; padding: .2rem .35rem; border-radius: 5px; background: var(--soft); border: 1px solid var(--line); overflow-wrap: anywhere } .part.key { color: var(--quiet) }
.control, pre { display: block; margin: 0; padding: .5rem .7rem; border-radius: 8px; background: var(--soft); overflow-wrap: anywhere; white-space: pre-wrap; font: .82rem/1.45 var(--mono) }
.scroll { max-height: 22rem; overflow: auto }
table { width: 100%; border-collapse: collapse; font-size: .9rem }
th { padding: 0 .8rem .35rem 0; text-align: left; font-size: .8rem; font-weight: 500; color: var(--quiet); white-space: nowrap }
td { padding: .38rem .8rem .38rem 0; border-top: 1px solid var(--line); vertical-align: top; overflow-wrap: anywhere } td.short { white-space: nowrap; color: var(--quiet) } td.short code { color: var(--ink) }
.index { margin-bottom: 1.2rem } .index h2 { margin: 1.2rem 0 .5rem }
.operations { display: grid; grid-template-columns: repeat(auto-fill, minmax(20rem, 1fr)); gap: .8rem; list-style: none }
.operations a { display: block; height: 100%; padding: .75rem .95rem; border: 1px solid var(--line); border-radius: 12px; background: var(--paper); color: var(--ink); text-decoration: none } .operations a:hover { border-color: var(--accent) }
.operations b { display: block; color: var(--accent) } .operations span { font-size: .9rem } .operations code { display: block; color: var(--quiet); font-size: .78rem }
@media (max-width: 60rem) { main { padding: 1rem .85rem 2.5rem } .columns { grid-template-columns: minmax(0, 1fr) } .operations { grid-template-columns: minmax(0, 1fr) } }
@media (max-width: 40rem) {
  main { min-height: 0 } .panel { padding: .9rem .95rem } .fields { grid-template-columns: repeat(2, minmax(0, 1fr)) } input, select { font-size: 16px }
  thead { display: none } tr { display: block; padding: .45rem 0; border-top: 1px solid var(--line) } td, td.short { display: block; padding: 0; border: 0; white-space: normal } td:empty { display: none }
}
@media (max-width: 30rem) { .fields { grid-template-columns: minmax(0, 1fr) } }
`
