import { asset } from '../http/asset.ts'
import { html, type Markup } from '../http/page.ts'

/**
 * The time line: a sequence diagram for people who see it, an ordered list of messages for people
 * who listen to it.
 */

const lanes = ['shopper', 'merchant', 'gateway', 'directory', 'issuer', 'acquirer'] as const
export type Lane = (typeof lanes)[number]
/** `wait` is for a required action. */
export type StoryTone = 'plain' | 'good' | 'bad' | 'wait'

export interface StoryField {
  name: string
  value: string
  means?: string
}

/** The parts of a checksum in order, without the control key, which comes last. */
export interface Signed {
  parts: StoryField[]
  control: string
  /** Whether it was made with our key. */
  holds: boolean
}

export interface StoryMessage {
  id: string
  /** Milliseconds since 1970. */
  at: number
  from: Lane
  to: Lane
  via: 'browser' | 'gateway API' | '3-D Secure' | 'ISO 8583'
  name: string
  /** The outcome or the point of the message in a few words. */
  says?: string
  tone: StoryTone
  isReply: boolean
  /** How often the same question got the same answer. */
  times: number
  address?: string
  fields: StoryField[]
  signed?: Signed
}

export const storyStyle = asset(new URL('./story.css', import.meta.url))

const laneNames: Readonly<Record<Lane, readonly [name: string, short: string]>> = {
  shopper: ['Shopper', 'Shopper'],
  merchant: ['Merchant', 'Shop'],
  gateway: ['Gateway', 'Gateway'],
  directory: ['Directory Server', 'DS'],
  issuer: ['Issuer (ACS)', 'ACS'],
  acquirer: ['Acquirer', 'Acq.'],
}

/** Longer values are truncated on the page; the JSON has them in full. */
const shownCharacters = 700

export function story(messages: readonly StoryMessage[], startedAt: number): Markup {
  return html`<p class="summary quiet" id="summary">${summed(messages, startedAt)} Open one to see all of it.</p>
    <div class="heads" aria-hidden="true">
      ${lanes.map((lane) => html`<span><b>${laneNames[lane][0]}</b><i>${laneNames[lane][1]}</i></span>`)}
    </div>
    <ol class="steps" id="steps">
      ${messages.map((message) => step(message, startedAt))}
    </ol>`
}

function summed(messages: readonly StoryMessage[], startedAt: number): string {
  const last = messages.at(-1)
  if (last === undefined) return ''
  const counted = messages.reduce((sum, { times }) => sum + times, 0)
  const yours = thoughtMs(messages)
  const thought = yours > 0 ? `, ${offset(yours)} of which were yours to think` : ''
  return `${counted} messages in ${offset(last.at - startedAt)}${thought}.`
}

/** How long the issuer's page waited for the cardholder. */
const thoughtMs = (messages: readonly StoryMessage[]): number =>
  messages.reduce((sum, { name, at }, i) => {
    const asked =
      name === 'answer'
        ? messages.slice(0, i).findLast((one) => one.name === 'challenge page' || one.name === 'password page')
        : undefined
    return asked === undefined ? sum : sum + at - asked.at
  }, 0)

function step(message: StoryMessage, startedAt: number): Markup {
  const { id, at, from, to, name, says, tone, isReply, times, via } = message
  const [low, high] = [lanes.indexOf(from), lanes.indexOf(to)].sort((a, b) => a - b)
  const span = `low-${low} high-${high}`
  const way = lanes.indexOf(from) < lanes.indexOf(to) ? 'right' : 'left'
  const caption = says === undefined || says === '' ? undefined : html` <em>${says}</em>`
  const counted = times > 1 ? html` <small>×${times}</small>` : undefined
  return html`<li id="m-${id}" class="step ${tone} ${low! > 1 ? 'far' : undefined}" data-key="${times}">
    <details>
      <summary>
        <span class="when">${offset(at - startedAt)}</span>
        <span class="name ${span}"
          ><span
            ><span class="unseen">${laneNames[from][0]} to ${laneNames[to][0]}: </span><b>${name}</b>${caption}${counted}</span
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
  return html`<div class="signing">
    <h3>String to sign</h3>
    <p class="signed">
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

function fieldList(fields: readonly StoryField[]): Markup {
  if (fields.length === 0) return html`<p class="quiet">It carries no fields.</p>`
  return html`<dl class="facts">
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
