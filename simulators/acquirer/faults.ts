/**
 * Scripted misbehaviour: which messages are affected, and how. A script has `match` (every given
 * criterion must fit) and `do` (exactly one effect). The first script that fits handles the
 * message; the others do not see it.
 */

export type Effect =
  | { decline: string }
  | { delay_ms: number }
  | { hold: true }
  | { no_answer: true }
  | { duplicate: true }
  | { answer_after_reversal: true }
  | { wrong_stan: true }
  | { wrong_mac: true }
  | { no_mac: true }
  | { garbage: true }
  | { half_frame: true }
  | { close: true }

/**
 * `authorisation` is everything except reversals: sales, preauthorisations, captures, returns,
 * credits, debits, and their repeats.
 */
export type Aim = 'authorisation' | 'reversal' | 'any'

export interface Match {
  card?: string
  amount_minor?: string | number
  order_id?: string
  message: Aim
  probability?: number
  seed?: number
  times?: number
}

export interface Fault {
  id: number
  match: Match
  do: Effect
  hits: number
}

/**
 * What a message shows to the scripts. `card` is masked, and empty when neither the message nor its
 * original has one.
 */
export interface Facts {
  card: string
  amountMinor: bigint
  orderId: string
  message: 'authorisation' | 'reversal'
}

export class FaultScripts {
  #next = 1
  #scripts: { fault: Fault; draw: () => number }[] = []
  /** The work that waits for the end of a script, by its effect. */
  readonly #waiting = new Map<Effect, (() => void)[]>()

  /** Adds a script from outside; a text is the refusal. */
  add(body: unknown): Fault | string {
    const read = readFault(body)
    if (typeof read === 'string') return read
    const id = this.#next++
    const fault = { id, ...read, hits: 0 }
    this.#scripts.push({ fault, draw: seeded(read.match.seed ?? id) })
    return fault
  }

  list(): Fault[] {
    return this.#scripts.map(({ fault }) => fault)
  }

  /** Returns how many were removed. */
  remove(id?: number): number {
    const gone = this.#scripts.filter(({ fault }) => id === undefined || fault.id === id)
    this.#scripts = this.#scripts.filter((script) => !gone.includes(script))
    for (const { fault } of gone) {
      const waiting = this.#waiting.get(fault.do) ?? []
      this.#waiting.delete(fault.do)
      for (const fn of waiting) fn()
    }
    return gone.length
  }

  /** Runs the function when the script with this effect is removed. */
  whenRemoved(effect: Effect, fn: () => void): void {
    this.#waiting.set(effect, [...(this.#waiting.get(effect) ?? []), fn])
  }

  /**
   * The effect that meets this message, counted as a hit. `applies` leaves out effects that could
   * not do anything to it.
   */
  meet(facts: Facts, applies: (effect: Effect) => boolean): Effect | undefined {
    for (const { fault, draw } of this.#scripts) {
      const { match } = fault
      if (match.times !== undefined && fault.hits >= match.times) continue
      if (!fits(match, facts) || !applies(fault.do)) continue
      if (match.probability !== undefined && draw() >= match.probability) continue
      fault.hits++
      return fault.do
    }
    return undefined
  }
}

function fits(match: Match, facts: Facts): boolean {
  if (match.message !== 'any' && match.message !== facts.message) return false
  if (match.order_id !== undefined && match.order_id !== facts.orderId) return false
  if (match.amount_minor !== undefined && BigInt(match.amount_minor) !== facts.amountMinor) return false
  return match.card === undefined || fitsCard(match.card, facts.card)
}

function fitsCard(wanted: string, card: string): boolean {
  if (wanted.includes('*')) return wanted === card
  if (wanted.length === 4) return card.endsWith(wanted)
  return card.startsWith(wanted)
}

/**
 * Numbers in [0, 1) that depend on the seed alone (mulberry32), so that a script with a probability
 * can be played again.
 */
export function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), state | 1)
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61)
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

interface Rule {
  fits: (value: unknown) => boolean
  must: string
}

const isTrue: Rule = { fits: (v) => v === true, must: 'true' }

// oxfmt-ignore
const effects = new Map<string, Rule>([
  ['decline',               { fits: (v) => isText(v, /^(?!400)[1-9][0-9]{2}$/), must: 'three digits in quotes, from "100" up and not "400"' }],
  ['delay_ms',              { fits: (v) => isWhole(v, 1, 3_600_000),            must: 'a whole number from 1 to 3600000' }],
  ['hold',                  isTrue],
  ['no_answer',             isTrue],
  ['duplicate',             isTrue],
  ['answer_after_reversal', isTrue],
  ['wrong_stan',            isTrue],
  ['wrong_mac',             isTrue],
  ['no_mac',                isTrue],
  ['garbage',               isTrue],
  ['half_frame',            isTrue],
  ['close',                 isTrue],
])

// oxfmt-ignore
const criteria = new Map<string, Rule>([
  ['card',         { fits: (v) => isText(v, /^([0-9]{1,6}|[0-9]{1,6}\*{3,9}[0-9]{4})$/), must: 'the last four digits, or one to six digits (not four) that the number begins with, or a masked number as the ledger prints it' }],
  ['amount_minor', { fits: (v) => isText(v, /^[0-9]{1,12}$/) || isWhole(v, 0, 999_999_999_999), must: 'a whole number of minor units' }],
  ['order_id',     { fits: (v) => isText(v, /^.{1,128}$/),                             must: 'the id of an order as text' }],
  ['message',      { fits: (v) => v === 'authorisation' || v === 'reversal' || v === 'any', must: '"authorisation", "reversal" or "any"' }],
  ['probability',  { fits: (v) => typeof v === 'number' && v >= 0 && v <= 1,            must: 'a number from 0 to 1' }],
  ['seed',         { fits: (v) => isWhole(v, 0, 2 ** 32 - 1),                           must: 'a whole number from 0 to 4294967295' }],
  ['times',        { fits: (v) => isWhole(v, 1, 1_000_000_000),                         must: 'a whole number from 1 up' }],
])

/**
 * Reads a script. Without `message` it is about authorisations, since silence towards reversals too
 * is rarely meant.
 */
function readFault(body: unknown): { match: Match; do: Effect } | string {
  if (!isRecord(body)) return 'A script is an object with "match" and "do".'
  const stray = Object.keys(body).find((name) => name !== 'match' && name !== 'do')
  if (stray !== undefined) return `A script has "match" and "do", but not ${JSON.stringify(stray)}.`
  const match = body.match ?? {}
  if (!isRecord(match)) return '"match" must be an object.'
  if (!isCriteria(match)) return problemOf('match', match, criteria)!
  if (!isRecord(body.do)) return '"do" must be an object with one effect.'
  if (Object.keys(body.do).length !== 1) return `"do" must name exactly one of ${[...effects.keys()].join(', ')}.`
  if (!isEffect(body.do)) return problemOf('do', body.do, effects)!
  if (match.seed !== undefined && match.probability === undefined) return '"match.seed" goes with "match.probability".'
  if ('answer_after_reversal' in body.do && match.message === 'reversal')
    return 'Only an authorisation can be answered after its reversal.'
  return { match: { message: 'authorisation', ...match }, do: body.do }
}

function problemOf(where: string, given: object, rules: Map<string, Rule>): string | undefined {
  for (const [name, value] of Object.entries(given)) {
    const rule = rules.get(name)
    if (!rule) return `"${where}" knows ${[...rules.keys()].join(', ')}, but not ${JSON.stringify(name)}.`
    if (!rule.fits(value)) return `"${where}.${name}" must be ${rule.must}.`
  }
  return undefined
}

const isCriteria = (given: object): given is Partial<Match> => problemOf('match', given, criteria) === undefined
const isEffect = (given: object): given is Effect => problemOf('do', given, effects) === undefined

export const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const isText = (value: unknown, form: RegExp): boolean => typeof value === 'string' && form.test(value)

const isWhole = (value: unknown, least: number, most: number): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= least && value <= most
