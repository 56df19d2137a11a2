/**
 * The list of calls beside the app: what the app sent itself, and what the merchant's journal knows
 * besides. Runs in the browser, as `flow.ts` does.
 */

/** A call as the list shows it; secrets are masked already. */
export interface Call {
  /** Milliseconds since 1970. */
  at: number
  from: 'app' | 'gateway'
  to: 'merchant' | 'gateway'
  method: 'GET' | 'POST'
  path: string
  request?: unknown
  /** 0 if no answer came. */
  status: number
  reply: unknown
  signed: readonly Signed[]
  /** How often in a row the same question got the same answer. */
  times: number
}

/**
 * What was signed or verified: the values in order, by name, joined without anything between them.
 */
export interface Signed {
  name: string
  string: string
  parts: Readonly<Record<string, string>>
  signature: string
}

/** As the merchant's server lists it at `/log`. */
export interface JournalEntry {
  number: number
  at: string
  path: string
  invoiceId: string
  request: unknown
  status: number
  reply: unknown
  signed: readonly Signed[]
}

const tokens = new Set(['accessToken', 'token'])
const hidden = new Set(['securityCode', 'expiry', 'holder'])

/**
 * A copy that may be shown, also of what is masked already: tokens by their ends, a card by its
 * first and last digits, and nothing of what else is on it.
 */
export function masked(value: unknown, name = ''): unknown {
  if (hidden.has(name)) return '***'
  if (typeof value === 'string') {
    if (tokens.has(name)) return ends(value)
    if (name === 'number') return `${value.slice(0, 6)}…${value.slice(-4)}`
    return name === 'redirectUrl' ? value.replace(/[^/]+$/, ends) : value
  }
  if (Array.isArray(value)) return value.map((one) => masked(one))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, masked(one, key)]))
}

export const maskedPath = (path: string): string => path.replace(/(?<=accessToken=)[^&]+/, ends)

function ends(secret: string): string {
  if (secret.includes('…')) return secret
  return secret.length > 12 ? `${secret.slice(0, 4)}…${secret.slice(-4)}` : '…'
}

/**
 * Both together, in the order of time. A call of the app to its merchant is in both: the journal
 * adds what was signed. What else is there the gateway asked. A question that was answered as the
 * one before is counted, not shown again.
 */
export function merged(own: readonly Call[], journal: readonly JournalEntry[]): Call[] {
  const initiations = new Map(journal.filter(({ path }) => isInitiate(path)).map((entry) => [entry.invoiceId, entry]))
  const sent = own.map((call) => {
    const invoiceId = isInitiate(call.path) ? invoiceOf(call.reply) : undefined
    const signed = invoiceId === undefined ? undefined : initiations.get(invoiceId)?.signed
    return signed === undefined ? call : { ...call, signed }
  })
  const asked = journal.filter(({ path }) => /\/(?:check|notification)$/.test(path)).map(fromGateway)
  const all: Call[] = []
  for (const call of [...sent, ...asked].sort((a, b) => a.at - b.at)) {
    const same = all.findLast(({ path }) => path === call.path)
    if (same !== undefined && call.path.endsWith('/status') && sameText(same.reply, call.reply)) same.times += call.times
    else all.push({ ...call })
  }
  return all
}

const isInitiate = (path: string): boolean => path.includes('/initiate-')
const invoiceOf = (reply: unknown): string | undefined => (reply as { invoiceId?: string } | undefined)?.invoiceId
const sameText = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other)

const fromGateway = ({ at, path, invoiceId, request, status, reply, signed }: JournalEntry): Call => ({
  at: Date.parse(at),
  from: 'gateway',
  to: 'merchant',
  method: 'POST',
  path: path.replace(':invoiceId', invoiceId),
  request: masked(request),
  status,
  reply: masked(reply),
  signed,
  times: 1,
})

/** For a line: an invoice by its beginning. */
export const shortPath = (path: string): string => path.replaceAll(/([0-9a-f]{8})(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, '$1…')

/** One sentence for a reader who has never seen the call. */
// oxfmt-ignore
const meanings: readonly [of: RegExp, says: string][] = [
  [/request-access-token$/,   'The consumer logs in. The token stands for the consumer in every call that follows; the gateway never learns a password.'],
  [/\/cards/,                 'The cards the merchant knows by name. It never had their numbers: the gateway keeps those.'],
  [/initiate-/,               'The app asks its own merchant first. The merchant makes an invoice and signs what the app may ask of the gateway.'],
  [/\/check$/,                'The gateway does not believe the app: it asks the merchant whether this is its invoice, and which card is meant.'],
  [/\/notification$/,         'The card was used and is registered. The merchant gets a name to pay with next time, and no number.'],
  [/\/status$/,               'Is it over? The app asks until the state is APPROVED or DECLINED.'],
  [/\/dapi\/v1\/\w+\/\d+\/[^/]+\/[^/]+$/, 'The consumer has chosen what the transfer may cost, and it goes on at that gate.'],
  [/\/dapi\/v1\//,            'The card goes only to the gateway. It first answers with a session token; then the work begins.'],
]

export const meaningOf = ({ path }: Pick<Call, 'path'>): string => meanings.find(([of]) => of.test(path))?.[1] ?? ''

/** The result, in a word or two. */
export function resultOf({ status, reply }: Pick<Call, 'status' | 'reply'>): string {
  const { state, error } = (reply ?? {}) as { state?: string; error?: { cause?: string } }
  if (status === 0) return 'no answer'
  return state ?? (status === 200 ? '200' : `${status} ${error?.cause ?? ''}`.trim())
}
