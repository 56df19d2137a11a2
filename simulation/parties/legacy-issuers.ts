import { paresFaults } from '../../simulators/acs/pares-faults.ts'
import {
  readPareq,
  readVereq,
  writeLegacyError,
  writePares,
  writeVeres,
  type Pareq,
  type Pares,
  type Vereq,
} from '../../simulators/three-d-secure/legacy.ts'
import type { Random } from '../../src/base/random.ts'
import type { Outgoing } from '../../src/http/outgoing.ts'
import type { LegacyDirectory } from '../../src/three-d-secure/legacy/directory.ts'
import { outgoingOf, type Call } from '../world/calls.ts'
import type { Actor } from '../world/clock.ts'
import { legacyNetworksOf, type LegacyDirectoryName } from '../model/configuration.ts'
import type { IssuerParts } from './issuer-weather.ts'
import type { AtIssuer } from './issuers.ts'
import type { LegacyNetwork } from './legacy-keys.ts'

/** The issuer's signed statement about a purchase. */
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
  /** The enrolment answers for each card number, without spoilt ones. */
  enrolments: ReadonlyMap<string, readonly ('Y' | 'N' | 'U')[]>
  /**
   * The content of each PARes, by the text that the browser carries. Only texts that an issuer
   * really signed are in it.
   */
  signed: ReadonlyMap<string, Signed>
  /**
   * The browser posts the PAReq and the cardholder answers. Returns the form field PaRes as it
   * reaches the merchant.
   */
  authenticate(pareq: string, does: AtIssuer): string | undefined
  /** A gateway asks about this card. */
  onAsked: (pan: string) => void
}

/** All faults except the one that is slow to make and to read. */
const faults = Object.keys(paresFaults).filter((name) => name !== 'bomb')
/**
 * Whether the issuer really signed the result of this fault. Leaving out the proof changes nothing
 * if the status has none.
 */
const isGenuine = (fault: string, { cavv }: Pares): boolean =>
  fault === 'leaf last' || (fault === 'no proof' && cavv === undefined)
/**
 * The most likely attacks of a browser or another merchant, preferred so that every world has some.
 */
const usualFaults = ['wrong root', 'altered amount', 'other purchase', 'replay'] as const

interface State extends IssuerParts, Pick<LegacyIssuers, 'onAsked'> {
  networks: Readonly<Record<LegacyDirectoryName, LegacyNetwork>>
  random: Random
  enrolments: Map<string, ('Y' | 'N' | 'U')[]>
  signed: Map<string, Signed>
  /** Enrolled cards, by the account id that a PAReq must name. */
  cases: Map<string, { pan: string; directory: LegacyDirectoryName }>
  /** The last PARes with a proof behind each directory server. */
  earlier: Map<LegacyDirectoryName, string>
}

const namesOf = (networks: State['networks']) => Object.keys(networks) as LegacyDirectoryName[]

export function openLegacyIssuers(
  parts: IssuerParts,
  networks: Readonly<Record<LegacyDirectoryName, LegacyNetwork>>,
): LegacyIssuers {
  const state: State = {
    ...parts,
    networks,
    random: parts.chance.fork().random(),
    enrolments: new Map(),
    signed: new Map(),
    cases: new Map(),
    earlier: new Map(),
    onAsked: () => {},
  }
  return Object.assign(state, {
    directories: namesOf(networks).map((name) => ({
      name,
      networks: legacyNetworksOf[name],
      url: `https://${name}.test/vereq`,
      tls: {},
      roots: [networks[name].root],
    })),
    outgoing: (actor: Actor) => outgoingOf(parts.events, actor, (call) => carry(state, call)),
    authenticate: (pareq: string, does: AtIssuer) => authenticate(state, pareq, does),
  })
}

function carry(state: State, call: Call): void {
  const { chance, weather } = state
  const vereq = readVereq(String(call.request.body))!
  state.onAsked(vereq.pan)
  if (weather.directories === 'away') return call.refuse(chance.between(1, 50))
  call.timeOut()
  if (chance.happens(weather.lostOdds)) return
  const thinkingMs = chance.happens(weather.lateOdds) ? chance.between(8_000, 20_000) : chance.between(20, 5_000)
  call.answer(thinkingMs, { status: 200, body: enrolled(state, call.url.host.split('.')[0] as LegacyDirectoryName, vereq) })
}

function enrolled(state: State, directory: LegacyDirectoryName, { messageId, pan }: Vereq): string {
  const { chance, weather, random, enrolments, cases, trace } = state
  if (chance.happens(weather.spoiltOdds))
    return chance.pick([
      '<ThreeDSecure>',
      writeLegacyError(messageId, '98', 'Transient system failure', 'down'),
      writeVeres({ messageId: `${messageId}0`, enrolled: 'N' }),
    ])
  const enrolment = chance.pick(['Y', 'Y', 'Y', 'Y', 'Y', 'N', 'U'] as const)
  enrolments.set(pan, [...(enrolments.get(pan) ?? []), enrolment])
  trace(() => `issuer   ${directory} says ${enrolment} of card ${pan.slice(-4)}`)
  if (enrolment !== 'Y') return writeVeres({ messageId, enrolled: enrolment })
  const acctID = random.bytes(12).toString('hex')
  cases.set(acctID, { pan, directory })
  return writeVeres({ messageId, enrolled: 'Y', acctID, url: 'https://issuer.test/acs' })
}

function authenticate(state: State, param: string, does: AtIssuer): string | undefined {
  const { chance, random, networks, cases, earlier, trace } = state
  const pareq = readPareq(param)
  const one = pareq && cases.get(pareq.acctID)
  if (!one) return undefined
  const { pan, directory } = one
  const { issuer } = networks[directory]
  const status = does === 'right' ? chance.pick(['Y', 'Y', 'Y', 'Y', 'A', 'U'] as const) : 'N'
  const of = (wanted: Pares['status']) => paresOf(pareq, pan, wanted, random)
  const pares = of(status)
  const good = writePares(pares, { ...issuer, hash: chance.pick(['sha1', 'sha256']) })
  const fault = chance.happens(0.4) ? chance.pick(chance.happens(0.5) ? usualFaults : faults) : undefined
  trace(() => `issuer   ${directory} signs ${status} of card ${pan.slice(-4)}${fault === undefined ? '' : `: ${fault}`}`)
  if (fault === undefined) return noted(state, directory, pares, good)
  const stranger = networks[namesOf(networks).find((name) => name !== directory)!].issuer
  const made = paresFaults[fault]!({ pares, of, good, issuer, stranger, earlier: earlier.get(directory) ?? '' })
  return isGenuine(fault, pares) || made === good ? noted(state, directory, pares, made) : made
}

function noted(state: State, directory: LegacyDirectoryName, { pareq, status, cavv, eci }: Pares, param: string): string {
  const { xid, purchAmount, currency } = pareq
  const proof = { ...(cavv === undefined ? {} : { cavv }), ...(eci === undefined ? {} : { eci }) }
  state.signed.set(param, { xid, purchAmount, currency, status, ...proof })
  if (cavv !== undefined) state.earlier.set(directory, param)
  return param
}

/** Every proof is unique, so that it identifies its PARes. */
function paresOf(pareq: Pareq, pan: string, status: Pares['status'], random: Random): Pares {
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
