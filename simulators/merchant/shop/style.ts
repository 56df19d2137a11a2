/** What the pages of the shop share: paper, ink, one accent, and the colours of outcomes. */
export const shopStyle = `
:root {
  color-scheme: light dark;
  --paper: #f6f7f9; --card: #fff; --ink: #1a2129; --quiet: #5c6873; --line: #dfe3e8; --soft: #eef2f5;
  --accent: #0b6e99; --on-accent: #fff; --good: #1c7c43; --bad: #b3261e; --wait: #8a5a00; --fresh: #d9edf6;
  --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #12161b; --card: #1a2027; --ink: #e5e9ee; --quiet: #98a4b0; --line: #2c353f; --soft: #222a33;
    --accent: #63b8de; --on-accent: #0d1a22; --good: #62c98a; --bad: #ff8f86; --wait: #e5b454; --fresh: #1d3a49;
  }
}
* { box-sizing: border-box }
html { -webkit-text-size-adjust: 100% }
body { margin: 0 auto; max-width: 84rem; padding: 1.5rem 1.5rem 3rem; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif }
h1, h2, h3, p, dl, dd, ol, ul { margin: 0; padding: 0 }
h1 { font-size: 1.6rem; line-height: 1.2; letter-spacing: -.01em }
h2 { font-size: 1.05rem }
a { color: var(--accent) }
a:not(:hover) { text-decoration-color: color-mix(in srgb, currentColor 40%, transparent) }
code { font-family: var(--mono); font-size: .9em }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 4px }
.quiet { color: var(--quiet) } .good { color: var(--good) } .bad { color: var(--bad) } .wait { color: var(--wait) }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap }
.panel { background: var(--card); border: 1px solid var(--line); border-radius: 12px; padding: 1.1rem 1.25rem }
.brand { display: flex; flex-wrap: wrap; align-items: center; gap: .3rem 1.5rem; margin-bottom: 1.25rem }
.brand > a, .brand > strong { display: flex; align-items: center; gap: .55rem; color: var(--ink); text-decoration: none; font-weight: 650; font-size: 1.05rem; margin-right: auto }
.brand svg { width: 28px; height: 28px }
.brand nav { display: flex; flex-wrap: wrap; gap: .3rem 1.1rem; font-size: .88rem }
button, .button { display: inline-block; padding: .65rem 1.3rem; border: 1px solid var(--accent); border-radius: 8px; background: var(--accent); color: var(--on-accent); font: inherit; font-weight: 600; text-decoration: none; cursor: pointer }
button:hover, .button:hover { filter: brightness(1.08) }
.second { background: transparent; color: var(--accent) }
.badge { display: inline-flex; align-items: center; gap: .4rem } .badge svg { flex: none; width: 24px; height: 16px }
.picture { display: block; overflow: hidden; border-radius: 8px }
.picture svg { display: block; width: 100%; aspect-ratio: 16 / 9 }
@media (max-width: 60rem) { body { padding: 1rem .85rem 2.5rem } }
@media (prefers-reduced-motion: reduce) { *, ::before, ::after { animation: none !important; transition: none !important } }
`

export const frontStyle = `
.lead { max-width: 60rem; margin: .35rem 0 1.2rem; color: var(--quiet) }
form { display: grid; grid-template-columns: minmax(0, 1fr) 27rem; gap: 1.25rem; align-items: start }
fieldset { min-width: 0; margin: 0; padding: 0; border: 0 }
legend { padding: 0; margin-bottom: .55rem; font-weight: 650 }
legend small { font-weight: 400; color: var(--quiet) }
input[type=radio] { position: absolute; opacity: 0; pointer-events: none }
label { cursor: pointer }
.products { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem }
.product { position: relative; display: block; height: 100%; padding: .6rem .6rem .75rem; background: var(--card); border: 1px solid var(--line); border-radius: 12px; transition: border-color .12s, transform .12s }
.product:hover { transform: translateY(-2px) }
.product b { display: block; margin-top: .55rem } .product .says { font-size: .88rem; color: var(--quiet) }
.product .price { display: block; margin-top: .3rem; font-variant-numeric: tabular-nums; font-weight: 650 }
:checked + .product, :checked + .choice { border-color: var(--accent); box-shadow: inset 0 0 0 1px var(--accent) }
:checked + .choice { background: color-mix(in srgb, var(--accent) 9%, var(--card)) }
:focus-visible + .product, :focus-visible + .choice { outline: 2px solid var(--accent); outline-offset: 2px }
:checked + .product::after { content: "✓"; position: absolute; top: 1rem; right: 1rem; display: grid; place-items: center; width: 1.6rem; height: 1.6rem; border-radius: 50%; background: var(--accent); color: var(--on-accent); font-weight: 700 }
form:has(#currency-eur:checked) .usd, form:has(#currency-usd:checked) .eur { display: none }
form:has(#currency-eur:checked) .secured { opacity: .45 }
form:not(:has(#currency-eur:checked)) .only-plain { display: none }
.only-plain { margin-top: .5rem; padding: .45rem .7rem; border-left: 3px solid var(--wait); background: var(--soft); font-size: .85rem }
.till { display: grid; gap: .95rem; position: sticky; top: 1rem }
.row { display: flex; flex-wrap: wrap; gap: .4rem } .row > span { display: flex; flex: 1 1 auto }
.choice { flex: 1; display: block; padding: .38rem .6rem; border: 1px solid var(--line); border-radius: 8px; font-size: .88rem; line-height: 1.3; text-align: center; align-content: center; min-height: 2.2rem }
.choice small { display: block; color: var(--quiet); font-size: .74rem; line-height: 1.25 }
.answers { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: .4rem } .answers span { display: flex }
.answers .choice { padding: .35rem .2rem } .answers code { display: block; font-weight: 650 }
select { width: 100%; padding: .55rem .6rem; border: 1px solid var(--line); border-radius: 8px; background: var(--card); color: var(--ink); font: inherit }
.explain { display: none; min-height: 2.6em; margin-top: .4rem; font-size: .85rem; line-height: 1.3; color: var(--quiet) }
.small { margin-bottom: .25rem; font-size: .82rem; font-weight: 500; color: var(--quiet) } .pair { gap: .6rem 1.1rem }
.till button { width: 100%; padding: .8rem; font-size: 1.05rem }
@media (max-width: 60rem) {
  form { grid-template-columns: minmax(0, 1fr) } .till { position: static }
  .products { gap: .6rem } .product { padding: .45rem .45rem .6rem } .product b { font-size: .92rem; line-height: 1.25 } .product .says { font-size: .8rem; line-height: 1.3 }
  .answers { grid-template-columns: repeat(2, minmax(0, 1fr)) }
}
`
