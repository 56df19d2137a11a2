import { messages as messageRows } from '../../../src/spec/three-d-secure/messages.ts'
import { actionCodes } from '../../../src/spec/action-codes.ts'
import { isoFields } from '../../../src/spec/iso8583.ts'
import { nameOfMessage } from '../../message-names.ts'
import type { Callback } from '../callbacks/book.ts'
import { shownFields, signedBy, statusInWords, toneOf } from './message.ts'
import type { StoryField, Lane, StoryMessage } from '../../../src/look/story.ts'
import { legacyField, toneOfStatus } from './reading.ts'
import type { Secret } from '../../../src/base/secret.ts'

/**
 * The other programs' own records of an order, as arrows. They mask card data when they write it;
 * nothing here could unmask it.
 */

export interface Journals {
  directoryServerUrl: string
  acsUrl: string
  acquirerAdminUrl: string
}

interface Noted {
  time: string
  direction: 'in' | 'out'
  peer: string
  type: string
  message: unknown
}

interface Line {
  at: string
  direction: 'in' | 'out'
  type: string
  fields: Record<string, string>
}

const timeoutMs = 2_000

/**
 * A journal that cannot be read is undefined: it leaves a gap in the picture, not an error on the
 * page.
 */
async function read<T>(url: URL): Promise<T[] | undefined> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    const body = (await reply.json()) as { messages?: T[] }
    return body.messages ?? []
  } catch {
    return undefined
  }
}

/** One list per journal, oldest first; undefined for one that could not be read. */
export async function readJournals(
  journals: Journals,
  transIds: readonly string[],
  orderid: string,
): Promise<(StoryMessage[] | undefined)[]> {
  const log = (base: string, id: string) => read<Noted>(new URL(`/admin/log?id=${encodeURIComponent(id)}`, base))
  const acquired = new URL(`/messages?limit=1000&order_id=${encodeURIComponent(orderid)}`, journals.acquirerAdminUrl)
  const [directory, issuer, lines] = await Promise.all([
    Promise.all(transIds.map((id) => log(journals.directoryServerUrl, id))).then(together),
    Promise.all(transIds.map((id) => log(journals.acsUrl, id))).then(together),
    orderid === '' ? [] : read<Line>(acquired),
  ])
  // The messages between issuer and directory server are already in the latter's journal.
  const browsers = issuer?.filter(({ peer }) => peer === 'browser')
  return [
    directory?.map((one, i) => threeDSecure(one, `ds-${i + 1}`, 'directory')),
    browsers?.map((one, i) => threeDSecure(one, `acs-${i + 1}`, 'issuer')),
    lines?.toReversed().map((line, i) => iso8583(line, `iso-${i + 1}`)),
  ]
}

const together = (lists: readonly (Noted[] | undefined)[]): Noted[] | undefined =>
  lists.includes(undefined) ? undefined : lists.flatMap((list) => list ?? [])

const peers: Readonly<Record<string, Lane>> = { '3ds-server': 'gateway', acs: 'issuer', browser: 'shopper' }

function threeDSecure({ time, direction, peer, type, message }: Noted, id: string, here: Lane): StoryMessage {
  const there = peers[peer] ?? 'issuer'
  const fields = (typeof message === 'object' && message !== null ? message : { text: message }) as Record<string, unknown>
  // 1.0.2 uses another name for the status.
  const transStatus = fields['transStatus'] ?? fields['TX/status']
  const enrolled = fields['CH/enrolled']
  const isErro = type === 'Erro' || type === 'Error'
  const status = typeof transStatus === 'string' ? statusInWords(transStatus) : undefined
  const trouble = `${String(fields['errorCode'])} ${String(fields['errorDescription'] ?? fields['errorMessage'])}`
  const says = isErro ? trouble : (status ?? wordsOf(type, fields))
  return {
    id,
    at: Date.parse(time),
    from: direction === 'in' ? there : here,
    to: direction === 'in' ? here : there,
    via: '3-D Secure',
    name: type === 'Page' && fields['messageVersion'] === '1.0.2' ? 'password page' : (namesOfNotes[type] ?? type),
    tone: isErro ? 'bad' : enrolled === 'Y' ? 'wait' : toneOfStatus(transStatus ?? enrolled),
    isReply: /Res$|^Error?$|^Page$/.test(type),
    times: 1,
    fields: Object.entries(fields).map(([name, value]) => described(type, name, value)),
    ...(says === undefined ? {} : { says }),
  }
}

/** The issuer's records of browsers that are not messages of the protocol. */
const namesOfNotes: Readonly<Record<string, string>> = { Method: 'method', Page: 'challenge page', Answer: 'answer' }

const enrolments: Readonly<Record<string, string>> = { Y: 'enrolled', N: 'not enrolled', U: 'could not say' }

function wordsOf(type: string, { notice, triesLeft, action, ...fields }: Record<string, unknown>): string | undefined {
  const enrolled = fields['CH/enrolled']
  if (typeof enrolled === 'string') return `${enrolled}: ${enrolments[enrolled] ?? 'unknown'}`
  if (type === 'Page') return typeof notice === 'string' ? `${notice}, ${Number(triesLeft)} left` : 'asks for the password'
  return type === 'Answer' && typeof action === 'string' ? action : undefined
}

function described(type: string, name: string, value: unknown): StoryField {
  const message = Object.entries(messageRows).find(([one]) => one === type)?.[1]
  const fields: Readonly<Record<string, { means: string }>> = message?.fields ?? {}
  const row = fields[name]
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return row ? { name, value: text, means: row.means } : legacyField(type, name, text)
}

function iso8583({ at, direction, type, fields }: Line, id: string): StoryMessage {
  const code = fields['39']
  const says = code === undefined ? undefined : `${code} ${fields['44'] ?? actionCodes.get(code) ?? ''}`.trim()
  return {
    id,
    at: Date.parse(at),
    from: direction === 'in' ? 'gateway' : 'acquirer',
    to: direction === 'in' ? 'acquirer' : 'gateway',
    via: 'ISO 8583',
    name: nameOfMessage(type),
    tone: code === undefined ? 'plain' : code === '000' || code === '400' ? 'good' : 'bad',
    isReply: direction === 'out',
    times: 1,
    fields: Object.entries(fields).flatMap(([number, value]) => explained(number, value)),
    ...(says === undefined ? {} : { says }),
  }
}

interface IsoRow {
  means: string
  tags?: Readonly<Record<string, { means: string }>>
}

/**
 * A field with its meaning; one made of tags, which the acquirer notes as it came (62) or masked
 * (48), as one row a tag.
 */
function explained(number: string, value: string): StoryField[] {
  const row = (isoFields as Readonly<Record<string, IsoRow>>)[number]
  const tags = row?.tags === undefined ? [] : number === '48' ? maskedTags(value) : tagsOf(value)
  if (tags.length > 0)
    return tags.map(([tag, text]) => {
      const means = row?.tags?.[tag]?.means
      return { name: `${number}.${tag}`, value: text, ...(means === undefined ? {} : { means }) }
    })
  return [{ name: number, value, ...(row && { means: row.means }) }]
}

const maskedTags = (text: string): [string, string][] =>
  text
    .split(/ (?=[0-9A-Z]{2}=)/)
    .flatMap((one): [string, string][] => (/^[0-9A-Z]{2}=/.test(one) ? [[one.slice(0, 2), one.slice(3)]] : []))

/** A tag of two characters, a length of three digits, the value. */
function tagsOf(text: string): [string, string][] {
  const [, tag, digits] = /^([0-9A-Z]{2})([0-9]{3})/.exec(text) ?? []
  if (tag === undefined) return []
  const end = 5 + Number(digits)
  return [[tag, text.slice(5, end)], ...tagsOf(text.slice(end))]
}

/** Callbacks about this order that the gateway sent to the merchant server. */
export function calledBack(callbacks: readonly Callback[], controlKey: Secret<string>): StoryMessage[] {
  return callbacks.toReversed().map(({ number, receivedAt, method, valid, fields }) => ({
    id: `callback-${number}`,
    at: receivedAt,
    from: 'gateway',
    to: 'merchant',
    via: 'gateway API',
    name: 'callback',
    says: valid ? (fields.get('status') ?? '') : 'control does not hold',
    tone: valid ? toneOf(fields.get('status')) : 'bad',
    isReply: false,
    times: 1,
    address: `${method} server_callback_url`,
    fields: shownFields(fields),
    signed: signedBy(
      controlKey,
      ['status', 'orderid', 'client_orderid'].map((name) => ({ name, value: fields.get(name) ?? '' })),
      fields.get('control') ?? '',
    ),
  }))
}
