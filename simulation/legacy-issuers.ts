import { paresFaults } from '../simulators/acs/pares-faults.ts'
import {
  readPareq,
  readVereq,
  writeLegacyError,
  writePares,
  writeVeres,
  type Pareq,
  type Pares,
  type Vereq,
} from '../simulators/three-d-secure/legacy.ts'
import type { Outgoing, OutgoingRequest, Reply } from '../src/http/outgoing.ts'
import type { LegacyDirectory } from '../src/three-d-secure/directory-legacy.ts'
import type { Actor } from './clock.ts'
import { legacyNetworksOf, type LegacyDirectoryName } from './configuration.ts'
import type { IssuerParts } from './issuer-weather.ts'
import type { AtIssuer } from './issuers.ts'
import type { LegacyNetwork } from './legacy-keys.ts'

/** What an issuer signed about a purchase. */
export interface Signed {
  xid: string
  purchAmount: string
  currency: string
  status: Pares['status']
  cavv?: string
  eci?: string
}

/** Directory servers of 3-D Secure 1.0.2, with the issuers behind them. */
export interface LegacyIssuers {
  directories: readonly LegacyDirectory[]
  outgoing(actor: Actor): Outgoing
  /** What was answered about a card, by its number; an answer that says nothing is not in it. */
  enrolments: ReadonlyMap<string, readonly ('Y' | 'N' | 'U')[]>
  /**
   * What each PARes proves, by the text that the browser carries. One that an honest issuer did not
   * make like this is not in it.
   */
  signed: ReadonlyMap<string, Signed>
  /**
   * The browser posts the PAReq and the cardholder answers: the form field PaRes, as it comes to
   * the merchant.
   */
  authenticate(pareq: string, does: AtIssuer): string | undefined
  /** A gateway asks about this card. */
  onAsked: (pan: string) => void
}

/** Not the one that takes long to make and to read. */
const faults = Object.keys(paresFaults).filter((name) => name !== 'bomb')
/**
 * Whether the issuer really signed it. A status without proof is still genuine when the proof is
 * left out.
 */
const isGenuine = (fault: string, { cavv }: Pares): boolean =>
  fault === 'leaf last' || (fault === 'no proof' && cavv === undefined)
/**
 * What a browser or another merchant is most likely to try, so that every world sees some of it.
 */
const usualFaults = ['wrong root', 'altered amount', 'other purchase', 'replay'] as const

export function openLegacyIssuers(
  { events, chance, weather, trace }: IssuerParts,
  networks: Record<LegacyDirectoryName, LegacyNetwork>,
): LegacyIssuers {
  const random = chance.fork().random()
  const names = Object.keys(networks) as LegacyDirectoryName[]
  const enrolments = new Map<string, ('Y' | 'N' | 'U')[]>()
  const signed = new Map<string, Signed>()
  const cases = new Map<string, { pan: string; directory: LegacyDirectoryName }>()
  const earlier = new Map<LegacyDirectoryName, string>()
  const issuers: LegacyIssuers = {
    directories: names.map((name) => ({
      name,
      networks: legacyNetworksOf[name],
      url: `https://${name}.test/vereq`,
      tls: {},
      roots: [networks[name].root],
    })),
    outgoing: (actor) => ({ send: (request) => send(actor, request), close: () => Promise.resolve() }),
    enrolments,
    signed,
    authenticate,
    onAsked: () => {},
  }

  function send(actor: Actor, request: OutgoingRequest): Promise<Reply> {
    const began = events.now
    const directory = new URL(request.url).host.split('.')[0] as LegacyDirectoryName
    const vereq = readVereq(String(request.body))!
    issuers.onAsked(vereq.pan)
    return new Promise((resolve) => {
      const answer = (afterMs: number, reply: (durationMs: number) => Reply) =>
        events.after(afterMs, actor, () => resolve(reply(Math.round(events.now - began))))
      const failed = (kind: 'timeout' | 'connection', why: string) => (durationMs: number) =>
        ({ is: 'failed', kind, why, durationMs }) as const
      if (weather.directories === 'away') return answer(chance.between(1, 50), failed('connection', 'connect ECONNREFUSED'))
      answer(request.timeoutMs, failed('timeout', 'no answer in time'))
      if (chance.happens(weather.lostOdds)) return
      const thinkingMs = chance.happens(weather.lateOdds) ? chance.between(8_000, 20_000) : chance.between(20, 5_000)
      const body = Buffer.from(enrolled(directory, vereq))
      answer(thinkingMs, (durationMs) => ({ is: 'answered', status: 200, headers: {}, body, truncated: false, durationMs }))
    })
  }

  function enrolled(directory: LegacyDirectoryName, { messageId, pan }: Vereq): string {
    if (chance.happens(weather.spoiltOdds))
      return chance.pick([
        '<ThreeDSecure>',
        writeLegacyError(messageId, '98', 'Transient system failure', 'down'),
        writeVeres({ messageId: `${messageId}0`, enrolled: 'N' }),
      ])
    const said = chance.pick(['Y', 'Y', 'Y', 'Y', 'Y', 'N', 'U'] as const)
    enrolments.set(pan, [...(enrolments.get(pan) ?? []), said])
    trace(() => `issuer   ${directory} says ${said} of card ${pan.slice(-4)}`)
    if (said !== 'Y') return writeVeres({ messageId, enrolled: said })
    const acctID = random.bytes(12).toString('hex')
    cases.set(acctID, { pan, directory })
    return writeVeres({ messageId, enrolled: 'Y', acctID, url: 'https://issuer.test/acs' })
  }

  function authenticate(param: string, does: AtIssuer): string | undefined {
    const pareq = readPareq(param)
    const one = pareq && cases.get(pareq.acctID)
    if (!one) return undefined
    const { pan, directory } = one
    const { issuer } = networks[directory]
    const status = does === 'right' ? chance.pick(['Y', 'Y', 'Y', 'Y', 'A', 'U'] as const) : 'N'
    const of = (wanted: Pares['status']) => paresOf(pareq, pan, wanted)
    const pares = of(status)
    const good = writePares(pares, { ...issuer, hash: chance.pick(['sha1', 'sha256']) })
    const fault = chance.happens(0.4) ? chance.pick(chance.happens(0.5) ? usualFaults : faults) : undefined
    trace(() => `issuer   ${directory} signs ${status} of card ${pan.slice(-4)}${fault === undefined ? '' : `: ${fault}`}`)
    if (fault === undefined) return noted(directory, pares, good)
    const stranger = networks[names.find((name) => name !== directory)!].issuer
    const made = paresFaults[fault]!({ pares, of, good, issuer, stranger, earlier: earlier.get(directory) ?? '' })
    return isGenuine(fault, pares) || made === good ? noted(directory, pares, made) : made
  }

  function noted(directory: LegacyDirectoryName, { pareq, status, cavv, eci }: Pares, param: string): string {
    const { xid, purchAmount, currency } = pareq
    const proof = { ...(cavv === undefined ? {} : { cavv }), ...(eci === undefined ? {} : { eci }) }
    signed.set(param, { xid, purchAmount, currency, status, ...proof })
    if (cavv !== undefined) earlier.set(directory, param)
    return param
  }

  /** Every proof is another, so that it is known which PARes it came with. */
  function paresOf(pareq: Pareq, pan: string, status: Pares['status']): Pares {
    const isProven = status === 'Y' || status === 'A'
    return {
      pareq,
      paresId: `PARes-${random.bytes(12).toString('hex')}`,
      lastFour: pan.slice(-4),
      time: pareq.date,
      status,
      ...(isProven ? { cavv: random.bytes(20).toString('base64'), eci: status === 'Y' ? '05' : '06', cavvAlgorithm: '2' } : {}),
    }
  }

  return issuers
}
