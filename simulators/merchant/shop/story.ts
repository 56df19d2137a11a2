import { html, type Markup } from '../../../src/http/page.ts'
import { lanes, type Field, type Lane, type Message, type Signed, type Tone } from './message.ts'

/** The time line: a sequence diagram for those who see it, an ordered list of messages for those who hear it. */

const laneNames: Readonly<Record<Lane, readonly [name: string, short: string]>> = {
  shopper: ['Shopper', 'Shopper'],
  merchant: ['Merchant', 'Shop'],
  gateway: ['Gateway', 'Gateway'],
  directory: ['Directory Server', 'DS'],
  issuer: ['Issuer (ACS)', 'ACS'],
  acquirer: ['Acquirer', 'Acq.'],
}

/** Longer values are cut on the page; the JSON has all of them. */
const shownCharacters = 700

export function story(messages: readonly Message[], startedAt: number): Markup {
  return html`<p class="summary quiet" id="summary">${summed(messages, startedAt)} Open one to see all of it.</p>
    <div class="heads" aria-hidden="true">
      ${lanes.map((lane, i) => html`<span class="head-${i}"><b>${laneNames[lane][0]}</b><i>${laneNames[lane][1]}</i></span>`)}
    </div>
    <ol class="steps" id="steps">
      ${messages.map((message) => step(message, startedAt))}
    </ol>`
}

function summed(messages: readonly Message[], startedAt: number): string {
  const last = messages.at(-1)
  if (last === undefined) return ''
  const counted = messages.reduce((sum, { times }) => sum + times, 0)
  const yours = thoughtMs(messages)
  return `${counted} messages in ${offset(last.at - startedAt)}${yours > 0 ? `, ${offset(yours)} of which were yours to think` : ''}.`
}

/** How long the issuer's page waited for the cardholder. */
const thoughtMs = (messages: readonly Message[]): number =>
  messages.reduce((sum, { name, at }, i) => {
    const asked =
      name === 'answer'
        ? messages.slice(0, i).findLast((one) => one.name === 'challenge page' || one.name === 'password page')
        : undefined
    return asked === undefined ? sum : sum + at - asked.at
  }, 0)

function step(message: Message, startedAt: number): Markup {
  const { id, at, from, to, name, says, tone, isReply, times, via } = message
  const [low, high] = [lanes.indexOf(from), lanes.indexOf(to)].sort((a, b) => a - b)
  const span = `span-${low}${high}`
  const way = lanes.indexOf(from) < lanes.indexOf(to) ? 'right' : 'left'
  const said = says === undefined || says === '' ? undefined : html` <em>${says}</em>`
  const counted = times > 1 ? html` <small>×${times}</small>` : undefined
  return html`<li id="m-${id}" class="step ${tone} ${low! > 1 ? 'far' : undefined}" data-key="${times}">
    <details>
      <summary>
        <span class="when">${offset(at - startedAt)}</span>
        <span class="name ${span} from-${low}"
          ><span
            ><span class="unseen">${laneNames[from][0]} to ${laneNames[to][0]}: </span><b>${name}</b>${said}${counted}</span
          ></span
        >
        <span class="arrow ${span} ${way} ${isReply ? 'reply' : ''}" aria-hidden="true"></span>
      </summary>
      <div class="inside">
        <p class="quiet about">
          ${via} · ${laneNames[from][0]} → ${laneNames[to][0]} ·
          ${exact(at)}${message.address ? html`<br /><code>${message.address}</code>` : undefined}
        </p>
        ${message.signed && signedText(message.signed)} ${fieldList(message.fields)}
      </div>
    </details>
  </li>`
}

function signedText({ parts, control, holds }: Signed): Markup {
  return html`<div class="signed">
    <h3>String to sign</h3>
    <p>
      <code
        >${parts.map(({ name, value }) => html`<span class="part" title="${name}">${value}</span>`)}<span class="part key"
          >‹control key›</span
        ></code
      >
    </p>
    <p class="quiet">${parts.map(({ name }) => name).join(' + ')} + control key</p>
    <p><span class="quiet">SHA-1</span> <code>${control}</code> ${mark(holds)}</p>
  </div>`
}

const mark = (holds: boolean): Markup =>
  holds ? html`<strong class="good">✓ holds</strong>` : html`<strong class="bad">✗ is not it</strong>`

function fieldList(fields: readonly Field[]): Markup {
  if (fields.length === 0) return html`<p class="quiet">It carries no fields.</p>`
  return html`<dl class="fields">
    ${fields.map(
      ({ name, value, means }) =>
        html`<div>
          <dt><code>${name}</code>${means === undefined ? undefined : html`<small>${means}</small>`}</dt>
          <dd><code>${cut(value)}</code></dd>
        </div>`,
    )}
  </dl>`
}

const cut = (text: string): Markup =>
  text.length <= shownCharacters
    ? html`${text}`
    : html`${text.slice(0, shownCharacters)}<i> … ${text.length.toLocaleString('en')} characters, all in the JSON</i>`

const exact = (ms: number): string => `${new Date(ms).toISOString().slice(11, 23)} UTC`

const offset = (ms: number): string =>
  ms < 10_000 ? `${ms.toLocaleString('en')} ms` : `${(ms / 1000).toLocaleString('en', { maximumFractionDigits: 1 })} s`

/** Where an arrow goes from lane to lane; style attributes are not allowed on this page, so that each pair has a class. */
const spans = lanes
  .flatMap((_, low) => lanes.slice(low + 1).map((__, i) => [low, low + 1 + i] as const))
  .map(([low, high]) => `.span-${low}${high} { grid-column: c${low} / c${high} }`)
  .join('\n')
const columns = lanes.map((_, i) => `1fr [c${i}] 1fr`).join(' ')

const tones: readonly Tone[] = ['good', 'bad', 'wait']

export const storyStyle = `
.summary { margin: .15rem 0 .6rem; font-size: .88rem }
.heads, summary { display: grid; grid-template-columns: [when] 4.3rem ${columns} }
.heads { position: sticky; top: 0; z-index: 2; padding: .5rem 0; background: var(--card); border-bottom: 1px solid var(--line); font-size: .82rem; text-align: center; line-height: 1.2 }
.heads i { display: none } .heads b { font-weight: 600 }
${lanes.map((_, i) => `.head-${i} { grid-column: ${2 + 2 * i} / span 2 }`).join('\n')}
${spans}
.steps { position: relative; list-style: none; padding: .4rem 0 .6rem }
.steps::before { content: ""; position: absolute; inset: 0 0 0 4.3rem; pointer-events: none;
  background: repeating-linear-gradient(to right, transparent 0 calc(100% / 12 - .5px), var(--line) 0 calc(100% / 12 + .5px), transparent 0 calc(100% / 6)) }
.step { position: relative; scroll-margin-top: 3.5rem }
summary { align-items: end; padding: .16rem 0 .3rem; border-radius: 6px; list-style: none; cursor: pointer }
summary::-webkit-details-marker { display: none }
summary:hover, details[open] > summary { background: color-mix(in srgb, var(--accent) 9%, transparent) }
.when { grid-column: when; grid-row: 1 / 3; align-self: center; padding-left: .4rem; font-size: .74rem; color: var(--quiet); font-variant-numeric: tabular-nums; white-space: nowrap }
.name { grid-row: 1; display: flex; justify-content: center; font-size: .8rem; line-height: 1.25; white-space: nowrap }
.name > span { padding: 0 .3rem; background: color-mix(in srgb, var(--card) 88%, transparent); border-radius: 4px }
.name b { font-weight: 600 } .name em { font-style: normal; color: var(--quiet) } .name small { padding: 0 .35em; border-radius: 1em; background: var(--soft); color: var(--quiet) }
.arrow { grid-row: 2; position: relative; height: 7px; margin-top: 1px; color: var(--quiet) }
.arrow::before { content: ""; position: absolute; inset: 3px 1px auto; border-top: 1.5px solid currentColor }
.arrow.reply::before { border-top-style: dashed }
.arrow::after { content: ""; position: absolute; top: 0; border: solid transparent; border-width: 3.500px 0 }
.arrow.right::after { right: 0; border-left: 7px solid currentColor } .arrow.left::after { left: 0; border-right: 7px solid currentColor }
${tones.map((tone) => `.step.${tone} .arrow, .step.${tone} em { color: var(--${tone}) }`).join(' ')}
.step.good em, .step.bad em { font-weight: 600 }
.fresh > details > summary { animation: fresh 1.600s ease-out }
@keyframes fresh { from { background: var(--fresh) } }
.inside { position: relative; display: grid; gap: .8rem; margin: .2rem 0 .7rem; padding: .8rem .9rem; border: 1px solid var(--line); border-radius: 8px; background: var(--paper); color: var(--ink); font-size: .86rem }
.about code, .signed code, .fields code { overflow-wrap: anywhere }
.signed { padding: .6rem .75rem; border-left: 3px solid var(--accent); background: var(--card); border-radius: 0 6px 6px 0 }
.signed h3 { margin: 0 0 .25rem; font-size: .8rem }
.part { border-bottom: 2px solid var(--accent) } .part:nth-child(even) { border-bottom-style: dotted } .part.key { border-color: var(--quiet); color: var(--quiet) }
.fields > div { display: grid; grid-template-columns: minmax(9rem, 17rem) minmax(0, 1fr); gap: .2rem 1rem; padding: .28rem 0; border-top: 1px solid var(--line) }
.fields dt small { display: block; color: var(--quiet); font-size: .78rem; line-height: 1.3 }
.fields dd i { color: var(--quiet) }
@media (max-width: 60rem) {
  .heads, summary { grid-template-columns: ${columns} }
  .heads { font-size: .74rem } .heads i { display: inline; font-style: normal; font-weight: 600 } .heads b { display: none }
  ${lanes.map((_, i) => `.head-${i} { grid-column: ${1 + 2 * i} / span 2 }`).join('\n')}
  .steps::before { left: 0 }
  .when { grid-column: 9 / -1; grid-row: 1; align-self: end; justify-self: end; padding: 0 .2rem; background: color-mix(in srgb, var(--card) 88%, transparent); font-size: .7rem }
  .name { grid-column: 1 / -1; justify-content: start; padding-right: 4rem; white-space: normal }
  .far .when { grid-column: 1 / 4; justify-self: start }
  .far .name { padding: 0 } .far .name.from-2 { grid-column: c2 / -1 } .far .name:not(.from-2) { grid-column: c1 / -1; justify-content: end }
  .fields > div { grid-template-columns: minmax(0, 1fr) }
}
`
