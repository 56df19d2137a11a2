import { asciiText } from '../../base/ascii.ts'
import { secret } from '../../base/secret.ts'
import { actionCodes } from '../../spec/action-codes.ts'
import { repeatTypeOf, replyTypeOf, type FieldNumber, type IsoFields, type IsoMessage } from '../../spec/iso8583.ts'
import type {
  AttemptNames,
  Authorisation,
  Connector,
  FollowUp,
  GateSettings,
  Outcome,
  ProcessorData,
  Reversal,
  ReversalOutcome,
  Stray,
} from '../connector.ts'
import { describe, localTime, momentOf, momentOfLocal, pack } from './codec.ts'
import { keyOf, Link, type LinkAnswer, type LinkOptions } from './link.ts'
import { usualLimits, type LinkLimits } from './link-limits.ts'
import { lineMac, openFraming } from './mac.ts'
import { lineAddress } from './transport.ts'
import { openUnanswered } from './unanswered.ts'

/**
 * Point of service, one digit each. Terminal: card data typed without one (1), it cannot
 * authenticate (0) or keep a card (0), none is used (0). Cardholder: not present, electronic order
 * (5, which card networks added to the standard's 0–4). Card: not present (0), data typed (1),
 * cardholder not authenticated (0) by anybody (0). Output: none to the card (1) or a terminal (1);
 * no PIN (0). The value is fixed because the gateway serves only the web; the tags of field 48
 * carry the result of 3-D Secure.
 */
const electronicOrder = '100050100110'

/** Type, processing code and function code of each kind of authorisation. */
// oxfmt-ignore
const spelling = {
  'sale':                 { type: '1200', processing: '000000', functionCode: '200' },
  'preauth':              { type: '1100', processing: '000000', functionCode: '101' },
  'account-verification': { type: '1100', processing: '330000', functionCode: '108' },
  'transfer':             { type: '1200', processing: '100000', functionCode: '200' },
  'credit':               { type: '1200', processing: '260000', functionCode: '200' },
} as const

/** The same for follow-ups of a payment; a partial capture has its own function code. */
// oxfmt-ignore
const followSpelling = {
  capture: { type: '1220', processing: '000000', whole: '201', part: '202' },
  return:  { type: '1200', processing: '200000', whole: '200', part: '200' },
} as const

const reasonCodes: Record<Reversal['reason'], string> = { 'no answer': '4021', cancelled: '4000', 'unusable answer': '4007' }

/** Which element of field 62 carries which fact about the processor. */
// oxfmt-ignore
const processorTags = {
  TX: 'processorTxId',   NR: 'networkReference', PC: 'productCode',    PN: 'productName',
  TC: 'typeCode',        TN: 'typeName',         IC: 'issuerCountry',  IB: 'issuerName',
  LB: 'loyaltyBalance',  LM: 'loyaltyMessage',   LO: 'loyaltyBonus',   LP: 'loyaltyProgram',
  MM: 'motivationalMessage',
} as const satisfies Record<keyof NonNullable<IsoFields[62]>, keyof ProcessorData>
/** The network reference is sent again, with later payments of its card. */
const canBeSent = /^[\x20-\x7e]{1,99}$/
const processorTagsInOrder = Object.keys(processorTags) as (keyof typeof processorTags)[]

/**
 * The fields that a reply must repeat if present, besides the names by which the line finds its
 * request.
 */
const echoed = [3, 4, 37, 42, 49] as const satisfies FieldNumber[]

/**
 * Why a reply with the names of a request does not answer it: its type, a field that it must
 * repeat, or its card. An approval of another payment must not approve this one, and an
 * acknowledgement of another reversal must not end this one. An absent field is not a mismatch.
 */
export function mismatchOf(request: IsoMessage, reply: IsoMessage): string | undefined {
  if (reply.type !== replyTypeOf(request.type)) return `type ${reply.type} to ${request.type}`
  const different = echoed.find((number) => reply.fields[number] !== undefined && reply.fields[number] !== request.fields[number])
  if (different !== undefined) return `field ${different} differs from the request`
  const [asked, answered] = [request.fields[2]?.reveal(), reply.fields[2]?.reveal()]
  const isOtherCard = asked !== undefined && answered !== undefined && asked !== answered
  return isOtherCard ? 'field 2 differs from the request' : undefined
}

/** Digits as on the wire, so that a reply finds its request. */
const digits = (text: string | bigint | number, length: number): string => text.toString().padStart(length, '0')

/**
 * The request of an authorisation; a repeat differs from the first only in its type. Field 7 is
 * field 12 without its year.
 */
export function authorisationRequest(gate: GateSettings, ask: Authorisation): IsoMessage {
  const { type, processing, functionCode } = spelling[ask.kind]
  const shown = ask.authentication
  const time = localTime(ask.startedAt)
  return {
    type: ask.repeat ? repeatTypeOf(type) : type,
    fields: {
      2: ask.pan,
      3: processing,
      4: digits(ask.kind === 'account-verification' ? 0n : ask.amountMinor, 12),
      7: time.slice(2),
      11: digits(ask.stan, 6),
      12: time,
      14: ask.expiry === undefined ? undefined : secret(ask.expiry),
      22: electronicOrder,
      24: functionCode,
      26: gate.mcc,
      32: gate.acquirerId,
      37: ask.rrn,
      41: gate.terminalId.trimEnd(),
      42: gate.cardAcceptorId,
      43: asciiText(gate.cardAcceptorName, 99),
      48: {
        OI: ask.orderId.toString(),
        92: ask.cvv2,
        EC: shown?.eci,
        AV: shown?.authenticationValue,
        DT: shown?.dsTransId,
        TV: shown?.version,
        AM: shown?.method,
        RI: ask.recurrent?.initiator,
        RS: ask.recurrent?.scenario,
        NR: ask.recurrent?.networkReference,
      },
      49: ask.currencyNumeric,
    },
  }
}

/** A capture or return names the payment in field 56, and has its own STAN, time and RRN. */
export function followRequest(gate: GateSettings, ask: FollowUp): IsoMessage {
  const { type, processing, whole, part } = followSpelling[ask.kind]
  const time = localTime(ask.startedAt)
  return {
    type: ask.repeat ? repeatTypeOf(type) : type,
    fields: {
      3: processing,
      4: digits(ask.amountMinor, 12),
      7: time.slice(2),
      11: digits(ask.stan, 6),
      12: time,
      24: ask.amountMinor === ask.originalMinor ? whole : part,
      30: digits(ask.originalMinor, 12),
      32: gate.acquirerId,
      37: ask.rrn,
      41: gate.terminalId.trimEnd(),
      42: gate.cardAcceptorId,
      48: { OI: ask.orderId.toString() },
      49: ask.currencyNumeric,
      56: originalNames(gate, spelling[ask.original.kind].type, ask.original),
    },
  }
}

const originalNames = (gate: GateSettings, type: string, { stan, startedAt }: AttemptNames): string =>
  type + digits(stan, 6) + localTime(startedAt) + digits(gate.acquirerId.length, 2) + gate.acquirerId

/**
 * The advice that cancels an authorisation. It names the original in field 56 and by its RRN, and
 * has its own STAN and time.
 */
export function reversalRequest(gate: GateSettings, ask: Reversal): IsoMessage {
  const { kind } = ask.original
  const { type, processing } = kind === 'capture' || kind === 'return' ? followSpelling[kind] : spelling[kind]
  const time = localTime(ask.startedAt)
  return {
    type: ask.repeat ? '1421' : '1420',
    fields: {
      3: processing,
      4: digits(ask.original.kind === 'account-verification' ? 0n : ask.amountMinor, 12),
      7: time.slice(2),
      11: digits(ask.stan, 6),
      12: time,
      24: '400',
      25: reasonCodes[ask.reason],
      32: gate.acquirerId,
      37: /^[0-9]+$/.test(ask.original.rrn) ? digits(ask.original.rrn, 12) : ask.original.rrn,
      41: gate.terminalId.trimEnd(),
      42: gate.cardAcceptorId,
      48: { OI: ask.orderId.toString() },
      49: ask.currencyNumeric,
      56: originalNames(gate, type, ask.original),
    },
  }
}

const unusable = (what: string): { is: 'unknown'; why: string } => ({ is: 'unknown', why: `unusable answer: ${what}` })

/**
 * The outcome in the reply to an authorisation, which has no mismatch. Only 000 is approved. Codes
 * from 100 to 299 (the issuer's) and from 900 on (nothing was booked) decline, known to the table
 * or not. Any other code, or none, makes the answer unusable; among them are conditional approvals
 * (001–099), whose conditions this gateway cannot meet.
 */
export function outcomeOf(reply: IsoMessage): Outcome {
  const actionCode = reply.fields[39]
  if (actionCode === undefined) return unusable('no action code')
  const data = processorData(reply.fields)
  if (actionCode === '000') {
    if (reply.fields[4] === undefined || reply.fields[49] === undefined) return unusable('approved without amount or currency')
    return { is: 'approved', actionCode, data }
  }
  if (!/^[129]/.test(actionCode)) return unusable(`action code ${actionCode}`)
  const text = reply.fields[44] ?? actionCodes.get(actionCode)
  return { is: 'declined', actionCode, data, ...(text === undefined ? {} : { text }) }
}

/** The outcome in the reply to a reversal, which has no mismatch. Only 400 ends the obligation. */
export function reversalOutcomeOf(reply: IsoMessage): ReversalOutcome {
  const actionCode = reply.fields[39]
  if (actionCode !== '400') return unusable(`action code ${actionCode ?? 'missing'}`)
  return { is: 'acknowledged', actionCode }
}

function isAcknowledged(request: IsoMessage, reply: IsoMessage, onLate?: (actionCode: string) => void): boolean {
  const outcome = mismatchOf(request, reply) === undefined && reversalOutcomeOf(reply)
  if (!outcome || outcome.is !== 'acknowledged') return false
  onLate?.(outcome.actionCode)
  return true
}

function processorData(fields: IsoFields): ProcessorData {
  const data: ProcessorData = {}
  // Field 12 is that of the request, and gives the year.
  const processedAt = fields[7] && fields[12] && momentOf(fields[7], momentOfLocal(fields[12]))
  if (processedAt) data.processedAt = processedAt
  if (fields[37] !== undefined) data.rrn = fields[37]
  if (fields[38]) data.approvalCode = fields[38]
  if (fields[41] !== undefined) data.terminalId = fields[41]
  for (const tag of processorTagsInOrder) {
    const value = fields[62]?.[tag]
    if (value !== undefined && (tag !== 'NR' || canBeSent.test(value))) data[processorTags[tag]] = value
  }
  return data
}

export interface Iso8583ConnectorOptions extends Pick<LinkOptions, 'clock' | 'random' | 'log' | 'connect'> {
  gate: GateSettings
  /** Differences from the usual limits of the line. */
  limits?: Partial<LinkLimits>
  /** Called for each stray, once it is logged. */
  onStray: (stray: Stray) => void
}

/** Opens the line to a gate and keeps it open. Throws if the gate's settings fit no message. */
export function openIso8583Connector(options: Iso8583ConnectorOptions): Connector {
  const { gate, limits, onStray: report, ...world } = options
  const log = options.log.child({ gate: gate.gateId.toString() })
  pack(authorisationRequest(gate, probe))
  const lineLimits = { ...usualLimits, answerMs: gate.answerTimeoutMs, ...limits }
  const unanswered = openUnanswered(keyOf, lineLimits.maxOpen)
  const onStray = (message: IsoMessage, kind: Stray['kind'], why?: string): void => {
    if (kind === 'unexpected' && unanswered.take(message))
      return log.info({ message: describe(message) }, 'a late acknowledgement was accepted')
    const { 11: stan = '', 41: terminalId = '' } = message.fields
    if (kind === 'unexpected') log.warn({ message: describe(message) }, 'unexpected answer: no request is waiting for it')
    else if (kind === 'mismatched')
      log.error({ message: describe(message), mismatch: why }, 'unexpected answer with STAN and time of an open request')
    else log.error({ type: message.type, stan, terminalId }, `a message ${why} came and is ignored`)
    report({ stan, terminalId, kind })
  }
  const link = new Link({
    ...world,
    log,
    ...lineAddress(gate),
    framing: openFraming(lineMac(gate)),
    limits: lineLimits,
    onStray,
  })

  async function send<T>(
    request: IsoMessage,
    deadline: number,
    mayStillSend: () => boolean,
    understand: (reply: IsoMessage) => T,
  ): Promise<T | { is: 'unknown'; why: string; waitedMs: number } | Extract<LinkAnswer, { is: 'not sent' }>> {
    const debugging = log.isLevelEnabled('debug')
    if (debugging) log.debug({ message: describe(request) }, 'to the acquirer')
    const answer = await link.ask(request, deadline, mayStillSend, (reply) => mismatchOf(request, reply))
    if (answer.is === 'not sent') return answer
    if (answer.is === 'lost') return { is: 'unknown', why: answer.why, waitedMs: answer.waitedMs }
    if (debugging) log.debug({ message: describe(answer.message) }, 'from the acquirer')
    return understand(answer.message)
  }

  return {
    authorise: (ask, deadline, mayStillSend) => send(authorisationRequest(gate, ask), deadline, mayStillSend, outcomeOf),
    follow: (ask, deadline, mayStillSend) => send(followRequest(gate, ask), deadline, mayStillSend, outcomeOf),
    async reverse(ask, deadline, mayStillSend, onLate) {
      const request = reversalRequest(gate, ask)
      const outcome = await send(request, deadline, mayStillSend, reversalOutcomeOf)
      if (outcome.is === 'acknowledged') unanswered.forget(request)
      else if (outcome.is === 'unknown') unanswered.add(request, (reply) => isAcknowledged(request, reply, onLate))
      return outcome
    },
    state: () => {
      const { mode, held, open } = link.state()
      return { up: mode === 'up', open: held + open }
    },
    close: () => link.close(),
  }
}

/** Packed at start-up, so that unusable settings fail before the first payment. */
const probe: Authorisation = {
  kind: 'sale',
  orderId: 1n,
  stan: '1',
  rrn: '000000000001',
  startedAt: 0,
  amountMinor: 1n,
  currencyNumeric: '840',
  pan: secret('4111111111111111'),
  expiry: '9912',
  repeat: false,
}
