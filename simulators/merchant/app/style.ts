/** Of the demo app's page, on top of what the shop's pages share. */
export const appStyle = `
body { max-width: 100rem }
[hidden] { display: none !important }
.desk { display: grid; grid-template-columns: minmax(15rem, 20rem) 23.5rem minmax(0, 1fr); gap: 2.5rem; align-items: start }
.about { display: grid; gap: .9rem; padding-top: .5rem; position: sticky; top: 1.5rem }
.about select { margin-left: .4rem }
.legend { list-style: none; display: flex; flex-wrap: wrap; gap: .4rem 1.2rem; margin-bottom: 1rem; font-size: .85rem; color: var(--quiet) }
.about nav { display: flex; flex-wrap: wrap; gap: .2rem 1rem; font-size: .88rem }
label, legend { font-size: .85rem; color: var(--quiet) }
input, select { font: inherit; padding: .5rem .65rem; border: 1px solid var(--line); border-radius: 8px; background: var(--paper); color: var(--ink); min-width: 0 }

.phone { position: sticky; top: 1.5rem; border: 10px solid #20262d; border-radius: 44px; background: var(--card); min-height: 46rem; display: flex; flex-direction: column; overflow: hidden; box-shadow: 0 18px 50px rgb(0 0 0 / .18) }
.bar { display: flex; justify-content: space-between; padding: .8rem 1.6rem .2rem; font-size: .8rem; font-weight: 600; font-variant-numeric: tabular-nums }
.screen { display: flex; flex-direction: column; gap: .55rem; padding: .7rem 1.4rem 1.5rem; flex: 1; outline: none }
.screen h2 { font-size: 1.5rem; letter-spacing: -.02em }
.screen input:not([type=radio]) { width: 100% }
.screen > button:last-child, .actions { margin-top: auto }
.screen fieldset { border: 0; margin: .3rem 0 0; padding: 0; display: grid; gap: .45rem; min-width: 0 }
.screen button:disabled { opacity: .5; cursor: default; filter: none }
.back.back { align-self: flex-start; padding: .2rem 0; border: 0; background: none; color: var(--accent); font-weight: 500 }
.actions { display: grid; gap: .6rem }
.pair { display: grid; grid-template-columns: 1fr 1fr; gap: .7rem }
.typed { display: grid; gap: .45rem }
.money { display: flex; align-items: baseline; gap: .5rem; font-size: 1.1rem; color: var(--quiet) }
.money input { font-size: 1.9rem; font-weight: 650; padding: .15rem .5rem; font-variant-numeric: tabular-nums }
.chips { display: flex; flex-wrap: wrap; gap: .4rem; margin: .1rem 0 }
.chip.chip { padding: .25rem .7rem; border-radius: 99px; font-size: .82rem; font-weight: 500; background: var(--soft); color: var(--ink); border-color: var(--line) }
.chip[aria-pressed=true] { border-color: var(--accent); color: var(--accent) }
.option { display: flex; align-items: center; gap: .6rem; padding: .55rem .7rem; border: 1px solid var(--line); border-radius: 10px; font-size: .95rem; color: var(--ink); cursor: pointer }
.option:has(:checked) { border-color: var(--accent); background: var(--soft) }
.option b { margin-left: auto; font-variant-numeric: tabular-nums }
.saved, #fee-list { display: grid; gap: .45rem } .saved:empty { display: none }
#wallet { list-style: none; display: grid; gap: .7rem } #wallet:empty { display: none }
#wallet li { position: relative; padding: 2.6rem 1.1rem .9rem; border-radius: 14px; color: #fff; background: linear-gradient(120deg, #0b6e99, #123c58); font-family: var(--mono); letter-spacing: .06em }
#wallet li:nth-child(even) { background: linear-gradient(120deg, #7a4a66, #3d2436) }
#wallet li::before { content: ""; position: absolute; left: 1.1rem; top: .9rem; width: 2rem; height: 1.4rem; border-radius: 5px; background: #e8c373 }
#wallet small { display: block; margin-top: .15rem; font: .75rem/1.4 system-ui, sans-serif; letter-spacing: 0; opacity: .85; overflow-wrap: anywhere }
.amount { font-size: 2.1rem; font-weight: 650; font-variant-numeric: tabular-nums }
.sheet { display: grid; gap: .6rem; margin-top: auto; padding: 1.1rem; border: 1px solid var(--line); border-radius: 18px; background: var(--soft); animation: rise .25s ease-out }
.sheet h3 { font-size: 1.05rem }
.sheet p { font-size: .92rem }
.message { padding: .6rem .8rem; border-radius: 12px; background: var(--card); border: 1px solid var(--line) }
@keyframes rise { from { transform: translateY(1.5rem); opacity: 0 } }
.spinner { display: inline-block; width: .9rem; height: .9rem; margin-right: .3rem; vertical-align: -.1rem; border: 2px solid var(--line); border-top-color: var(--accent); border-radius: 50%; animation: turn 1s linear infinite }
@keyframes turn { to { transform: rotate(1turn) } }
#over-mark { width: 4rem; height: 4rem; margin-top: 2rem; display: grid; place-items: center; border-radius: 50%; font-size: 2rem; color: var(--card); background: var(--good) }
#over-mark.bad { background: var(--bad); color: var(--card) }
#over-facts { display: grid; gap: .35rem; font-size: .88rem }
#over-facts div { display: flex; justify-content: space-between; gap: 1rem; border-top: 1px solid var(--line); padding-top: .35rem }
#over-facts dt { color: var(--quiet) } #over-facts dd { text-align: right; overflow-wrap: anywhere }

.calls { min-width: 0 }
.calls h2 { margin: .5rem 0 .5rem }
#calls { list-style: none; display: grid; grid-template-columns: minmax(0, 1fr); gap: .5rem }
#calls > li { background: var(--card); border: 1px solid var(--line); border-radius: 10px }
#calls summary { display: flex; flex-wrap: wrap; gap: .25rem .8rem; align-items: baseline; padding: .6rem .9rem; cursor: pointer; list-style: none }
#calls summary::-webkit-details-marker { display: none }
#calls summary:hover { background: var(--soft); border-radius: 10px }
#calls time { font-size: .8rem; white-space: nowrap; color: var(--quiet); font-variant-numeric: tabular-nums }
.who { display: inline-block; padding: .05rem .55rem; border-radius: 99px; font-size: .78rem; font-weight: 600; white-space: nowrap; border: 1px solid currentColor }
.app-merchant { color: var(--accent) } .app-gateway { color: var(--good) } .gateway-merchant { color: var(--wait) }
.path { flex-basis: 100%; font-family: var(--mono); font-size: .82rem; overflow-wrap: anywhere }
.result { margin-left: auto; font-size: .8rem; font-weight: 600 } .result.bad { color: var(--bad) }
.inside { display: grid; gap: .8rem; padding: .2rem .9rem 1rem }
.inside h3 { font-size: .8rem; font-weight: 600; color: var(--quiet) }
.inside pre, .signed { margin: .25rem 0 0; padding: .7rem .85rem; border-radius: 8px; background: var(--paper); border: 1px solid var(--line); font: .8rem/1.55 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere }
.exchange { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(18rem, 100%), 1fr)); gap: .8rem; align-items: start }
.signed span { border-bottom: 2px solid var(--accent) } .signed span:nth-child(even) { border-bottom-style: dotted }
.whole { font: .8rem var(--mono); overflow-wrap: anywhere }
.parts { display: grid; grid-template-columns: fit-content(50%) minmax(0, 1fr); gap: .1rem .9rem; margin-top: .45rem; font-size: .8rem }
.parts dt { color: var(--quiet); overflow-wrap: anywhere } .parts dd { font-family: var(--mono); overflow-wrap: anywhere }

@media (max-width: 90rem) { .desk { grid-template-columns: 23.5rem minmax(0, 1fr); gap: 1.5rem 2.5rem } .about { grid-column: 1 / -1; position: static; max-width: 60rem } }
@media (max-width: 60rem) {
  .desk { display: flex; flex-direction: column; align-items: stretch; gap: 1.25rem }
  .about p, .legend { font-size: .9rem }
  .phone { position: static; border-width: 1px; border-color: var(--line); border-radius: 22px; box-shadow: none; min-height: 34rem }
  .bar { display: none } .screen { padding-top: 1.2rem }
}
`
