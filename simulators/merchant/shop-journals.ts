import { messages as messageRows } from '../../src/spec/three-d-secure/messages.ts'
import { actionCodes } from '../../src/spec/action-codes.ts'
import { isoFields } from '../../src/spec/iso8583.ts'
import type { Callback } from './callbacks.ts'
import { shownFields, signedBy, toneOf, type Field, type Lane, type Message, type Tone } from './shop-message.ts'
import type { Secret } from '../../src/base/secret.ts'

/** The other programs' own notes of an order, read as arrows. They mask card data when they write; nothing here could unmask it. */

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

/** A journal that cannot be read leaves a gap in the picture, not an error on the page. */
async function read<T>(url: string, of: (body: unknown) => T[]): Promise<T[]> {
  try {
    const reply = await fetch(url, { signal: AbortSignal.timeout(timeoutMs) })
    return reply.ok ? of(await reply.json()) : []
  } catch {
    return []
  }
}

const listIn = <T>(body: unknown): T[] => (body as { messages?: T[] }).messages ?? []

export async function readJournals(journals: Journals, transIds: readonly string[], orderid: string): Promise<Message[]> {
  const log = (url: string, id: string) => read(`${url}/admin/log?id=${encodeURIComponent(id)}`, (body) => listIn<Noted>(body))
  const acquired = orderid === '' ? [] : read(`${journals.acquirerAdminUrl}/messages?limit=1000&order_id=${encodeURIComponent(orderid)}`, (body) => listIn<Line>(body)) // oxfmt-ignore
  const [directory, issuer, lines] = await Promise.all([
    Promise.all(transIds.map((id) => log(journals.directoryServerUrl, id))),
    Promise.all(transIds.map((id) => log(journals.acsUrl, id))),
    acquired,
  ])
  return [
    ...directory.flat().map((one, i) => threeDSecure(one, `ds-${i + 1}`, 'directory')),
    // What the issuer and the directory server said to each other is in the latter's notes already.
    ...issuer.flat().filter(({ peer }) => peer === 'browser').map((one, i) => threeDSecure(one, `acs-${i + 1}`, 'issuer')),
    ...lines.toReversed().map((line, i) => iso8583(line, `iso-${i + 1}`)),
  ] // oxfmt-ignore
}

const peers: Readonly<Record<string, Lane>> = { '3ds-server': 'gateway', acs: 'issuer', browser: 'shopper' }

const means: Readonly<Record<string, string>> = {
  Y: 'authenticated', A: 'attempted', N: 'not authenticated', R: 'rejected', U: 'could not say', C: 'challenge required', I: 'informational', D: 'decoupled',
} // oxfmt-ignore

function threeDSecure({ time, direction, peer, type, message }: Noted, id: string, here: Lane): Message {
  const there = peers[peer] ?? 'issuer'
  const fields = (typeof message === 'object' && message !== null ? message : { text: message }) as Record<string, unknown>
  const { transStatus, errorCode, errorDescription } = fields
  const isErro = type === 'Erro'
  const status = typeof transStatus === 'string' ? `${transStatus}: ${means[transStatus] ?? 'unknown'}` : undefined
  const says = isErro ? `${String(errorCode)} ${String(errorDescription)}` : (status ?? wordsOf(type, fields))
  return {
    id,
    at: Date.parse(time),
    from: direction === 'in' ? there : here,
    to: direction === 'in' ? here : there,
    via: '3-D Secure',
    name: namesOfNotes[type] ?? type,
    tone: isErro ? 'bad' : toneOfStatus(transStatus),
    isReply: /Res$|^Erro$|^Page$/.test(type),
    times: 1,
    fields: Object.entries(fields).map(([name, value]) => described(type, name, value)),
    ...(says === undefined ? {} : { says }),
  }
}

/** What the issuer notes of browsers that is no message of the protocol. */
const namesOfNotes: Readonly<Record<string, string>> = { Method: 'method', Page: 'challenge page', Answer: 'answer' }

function wordsOf(type: string, fields: Record<string, unknown>): string | undefined {
  if (type === 'Page') return fields['notice'] === undefined ? 'asks for the password' : `${String(fields['notice'])}, ${String(fields['triesLeft'])} left`
  if (type === 'Answer') return String(fields['action'])
  return undefined
}

function toneOfStatus(status: unknown): Tone {
  if (status === 'Y' || status === 'A') return 'good'
  return status === 'N' || status === 'R' || status === 'U' ? 'bad' : status === 'C' || status === 'D' ? 'wait' : 'plain'
}

function described(type: string, name: string, value: unknown): Field {
  const layout: Readonly<Record<string, { means: string }>> | undefined = Object.entries(messageRows).find(([one]) => one === type)?.[1].fields // oxfmt-ignore
  const row = layout?.[name]
  return { name, value: typeof value === 'string' ? value : JSON.stringify(value), ...(row && { means: row.means }) }
}

const purposes: Readonly<Record<string, string>> = {
  '1200': 'sale', '1201': 'sale, repeated', '1210': 'answer', '1100': 'authorisation', '1101': 'authorisation, repeated', '1110': 'answer',
  '1220': 'capture', '1221': 'capture, repeated', '1230': 'answer', '1420': 'reversal', '1421': 'reversal, repeated', '1430': 'reversal answer',
} // oxfmt-ignore

function iso8583({ at, direction, type, fields }: Line, id: string): Message {
  const code = fields['39']
  const says = code === undefined ? undefined : `${code} ${fields['44'] ?? actionCodes.get(code) ?? ''}`.trim()
  const rows: Readonly<Record<string, { means: string }>> = isoFields
  return {
    id,
    at: Date.parse(at),
    from: direction === 'in' ? 'gateway' : 'acquirer',
    to: direction === 'in' ? 'acquirer' : 'gateway',
    via: 'ISO 8583',
    name: `${type} ${purposes[type] ?? ''}`.trim(),
    tone: code === undefined ? 'plain' : code === '000' || code === '400' ? 'good' : 'bad',
    isReply: direction === 'out',
    times: 1,
    fields: Object.entries(fields).map(([number, value]) => {
      const row = rows[number]
      return { name: number, value, ...(row && { means: row.means }) }
    }),
    ...(says === undefined ? {} : { says }),
  }
}

/** What the gateway told the merchant server of this order by itself. */
export function calledBack(callbacks: readonly Callback[], controlKey: Secret<string>): Message[] {
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

/**
 * One story out of the notes of many: by time, and within a millisecond in the order in which a payment goes: what was asked of the gateway, what
 * that led to, what came back. The order within one journal is never changed.
 */
export function inOrder(messages: readonly Message[]): Message[] {
  const rank = ({ id, from, isReply }: Message): number =>
    id.startsWith('ds-') ? 1 : id.startsWith('acs-') ? 2 : id.startsWith('iso-') ? 3 : from === 'gateway' || isReply ? 4 : 0
  return messages.toSorted((a, b) => a.at - b.at || rank(a) - rank(b))
}
