/** The style of the bank's pages: a window of 250×400 at the least, a phone, a whole screen. One accent colour. */
export const pageStyle = `
:root {
  color-scheme: light dark;
  --paper: #eef1f5; --card: #fff; --ink: #16202b; --quiet: #5a6775; --line: #d8dee5;
  --accent: #14507a; --on-accent: #fff; --bad: #b3261e; --bad-paper: #fdeceb; --good: #1c6b3f; --good-paper: #e8f5ed;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #10151b; --card: #19212a; --ink: #e6ebf0; --quiet: #9aa7b4; --line: #2d3843;
    --accent: #7fbfe8; --on-accent: #0e1c27; --bad: #ff9a92; --bad-paper: #3a1d1b; --good: #7bd3a1; --good-paper: #173223;
  }
}
* { box-sizing: border-box }
html { background: var(--card) }
body { margin: 0; min-height: 100vh; display: flex; flex-direction: column; background: var(--card); color: var(--ink);
  font: .9375rem/1.4 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; -webkit-text-size-adjust: 100%; overflow-wrap: anywhere }
header { display: flex; align-items: center; gap: .5rem; padding: .55rem .9rem; border-bottom: 1px solid var(--line) }
header svg { flex: none; width: 1.35rem; height: 1.35rem }
header strong { flex: 1; font-size: .95rem; letter-spacing: -.01em }
header span { font-size: .75rem; color: var(--quiet); text-transform: capitalize }
main { flex: 1; padding: .8rem .9rem }
h1 { margin: 0 0 .5rem; font-size: 1.1rem; line-height: 1.25; letter-spacing: -.01em }
p { margin: 0 0 .6rem }
.quiet { color: var(--quiet); font-size: .85rem }
dl { margin: 0 0 .7rem; padding: .45rem .7rem; border: 1px solid var(--line); border-radius: 8px }
dl div { display: flex; justify-content: space-between; gap: 1rem; padding: .12rem 0 }
dt { color: var(--quiet); flex: none }
dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums }
dd.amount { font-weight: 650 }
label { display: block; margin-bottom: .25rem; font-weight: 550 }
input { display: block; width: 100%; margin-bottom: .7rem; padding: .5rem .65rem; border: 1px solid var(--quiet); border-radius: 8px;
  background: var(--card); color: var(--ink); font: inherit; font-size: 1rem; letter-spacing: .06em }
button { font: inherit; cursor: pointer; border-radius: 8px }
.main { display: block; width: 100%; padding: .55rem 1rem; border: 1px solid var(--accent); background: var(--accent); color: var(--on-accent); font-weight: 600 }
.main:hover { filter: brightness(1.12) }
.other { display: flex; justify-content: space-between; margin-top: .35rem }
.other button { padding: .4rem .15rem; border: 0; background: none; color: var(--accent); text-decoration: underline; text-underline-offset: .15em }
.notice { padding: .4rem .65rem; border-radius: 8px; background: var(--good-paper); color: var(--good) }
.notice.bad { background: var(--bad-paper); color: var(--bad) }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px }
footer { padding: .45rem .9rem; border-top: 1px solid var(--line); font-size: .75rem; color: var(--quiet) }
code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace }
.wait { display: grid; place-content: center; gap: .8rem; min-height: 12rem; text-align: center }
@media (min-width: 460px) {
  html, body { background: var(--paper) }
  header, main, footer { width: 100%; max-width: 30rem; margin-inline: auto; background: var(--card); border: 0 solid var(--line); padding-inline: 1.6rem }
  header { margin-top: auto; border-width: 1px; border-radius: 12px 12px 0 0; padding-block: .9rem }
  main { flex: none; border-width: 0 1px; padding-block: 1.3rem }
  footer { margin-bottom: auto; border-width: 1px; border-radius: 0 0 12px 12px; padding-block: .7rem }
  h1 { font-size: 1.3rem; margin-bottom: .7rem }
  dl { padding: .6rem .9rem; margin-bottom: 1rem }
}
@media (max-height: 420px) {
  html { font-size: 13.5px }
  header, main, footer { padding-block: .4rem }
  h1 { font-size: 1.05rem; margin-bottom: .3rem }
  dl { padding: .2rem .6rem; margin-bottom: .4rem }
  dl div { padding: 0 }
  p, .notice { margin-bottom: .35rem }
  .notice { padding: .25rem .55rem }
  label { margin: 0 }
  input { padding: .35rem .6rem; margin-bottom: .45rem }
  .main { padding: .4rem 1rem }
  .other { margin-top: 0 }
  .other button { padding: .25rem .15rem }
  footer { padding-block: .25rem }
}
`

/** Of the list of test cards. */
export const listStyle = `
header, main, footer { max-width: 72rem !important }
table { width: 100%; min-width: 44rem; border-collapse: collapse; font-size: .9rem; overflow-wrap: normal }
th { padding: .3rem .7rem .3rem 0; text-align: left; font-size: .8rem; font-weight: 500; color: var(--quiet) }
td { padding: .4rem .7rem .4rem 0; border-top: 1px solid var(--line); vertical-align: top }
td code { -webkit-user-select: all; user-select: all; white-space: nowrap }
h2 { margin: 1.4rem 0 .3rem; font-size: 1.05rem; text-transform: capitalize }
.scroll { overflow-x: auto }
`
