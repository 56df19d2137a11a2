/**
 * 3-D Secure of an order in words. The proof for the acquirer, the addresses of its pages and the
 * cardholder's browser are never shown.
 */
import { jsonOf, pick } from '../../entity/json.ts'
import type { Transaction } from '../../order/decide/order.ts'
import type { TransStatus } from '../../three-d-secure/authentication.ts'

const statuses: Readonly<Record<TransStatus, string>> = {
  Y: 'authenticated',
  A: 'an attempt attested',
  N: 'not authenticated',
  R: 'rejected by the issuer',
  U: 'authentication unavailable',
  I: 'information only',
  C: 'challenge required',
}

/** `transStatusReason`. From 80 on they belong to the directory server. */
const reasons: Readonly<Record<string, string>> = {
  '01': 'card authentication failed',
  '02': 'unknown device',
  '03': 'unsupported device',
  '04': 'exceeds the authentication frequency limit',
  '05': 'expired card',
  '06': 'invalid card number',
  '07': 'invalid transaction',
  '08': 'no card record',
  '09': 'security failure',
  '10': 'stolen card',
  '11': 'suspected fraud',
  '12': 'not permitted to the cardholder',
  '13': 'cardholder not enrolled',
  '14': 'timed out at the issuer',
  '15': 'low confidence',
  '16': 'medium confidence',
  '17': 'high confidence',
  '18': 'very high confidence',
  '19': 'too many challenges',
  '20': 'payments without a cardholder are not supported',
  '21': 'requests by the merchant are not supported',
  '22': 'technical problem of the issuer',
  '23': 'decoupled authentication required and not asked for',
  '24': 'decoupled authentication took too long',
  '25': 'too little time for decoupled authentication',
  '26': 'attempted, not performed by the cardholder',
}

/** `challengeCancel`. */
const cancels: Readonly<Record<string, string>> = {
  '01': 'cancelled by the cardholder',
  '03': 'decoupled authentication timed out',
  '04': 'timed out at the issuer',
  '05': 'the challenge was never opened',
  '06': 'ended by an error',
  '07': 'ended for an unknown reason',
  '08': 'timed out at the app',
}

const methods: Readonly<Record<string, string>> = {
  Y: 'the method of the issuer ran',
  N: 'the method of the issuer did not end in time',
  U: 'the issuer has no method',
}

/** A code with its meaning, if it has one. */
const meant = (codes: Readonly<Record<string, string>>, code: string | undefined): string | undefined =>
  code !== undefined && Object.hasOwn(codes, code) ? `${code}, ${codes[code]}` : code

const joined = (by: string, ...parts: (string | undefined)[]): string => parts.filter((part) => part !== undefined).join(by)

/** `ECI 05`; undefined without a value. */
const named = (name: string, value: string | undefined): string | undefined =>
  value === undefined ? undefined : `${name} ${value}`

/** The facts of an event. */
type Facts = Readonly<Record<string, string | undefined>>

/** The issuer's result: `authenticated (Y); ECI 05`. Undefined if there is none. */
function answerText({ status, reason, cancel, eci }: Facts): string | undefined {
  if (status === undefined) return undefined
  return joined(
    '; ',
    `${Object.hasOwn(statuses, status) ? statuses[status as TransStatus] : 'an unknown status'} (${status})`,
    named('reason', meant(reasons, reason)),
    named('cancel', meant(cancels, cancel)),
    named('ECI', eci),
  )
}

/**
 * One line for the head of an order: the current state or the end. Undefined without 3-D Secure.
 */
export function authenticationText({ authentication: a, result }: Transaction): string | undefined {
  if (a === undefined && result.verified === undefined) return undefined
  const { status, statusReason: reason, challengeCancel: cancel, eci } = { ...a, ...result }
  return joined(
    '; ',
    a === undefined ? 'not performed' : `${a.version} by ${a.directory}${a.round > 1 ? ', the second one' : ''}`,
    answerText({ status, reason, cancel, eci }) ?? named('ECI', result.eci),
    named('XID', a?.legacy?.xid),
    named('verified-3d-status', result.verified),
  )
}

/** The text for each event of 3-D Secure; other events have none here. */
const sentences: Readonly<Record<string, (facts: Facts, transaction: Transaction) => string>> = {
  'authentication begun': ({ version, three_ds_server_trans_id: id }) =>
    `3-D Secure ${version} begins, threeDSServerTransID ${id}`,
  'enrolment unknown': ({ version }) => `3-D Secure ${version} begins: asking the directory server whether the card is enrolled`,
  'payer authentication required': (facts) =>
    joined('; ', 'the card is enrolled; the issuer authenticates by the browser', answerText(facts)),
  'authentication waived': (_, { result }) =>
    joined(', ', '3-D Secure is not possible for this card; the endpoint authorises anyway', named('ECI', result.eci)),
  'method begun': () => 'the cardholder is on the hosted page; the issuer is asked within 10 s',
  'method uploaded': (facts) => `${methods[facts.comp_ind ?? ''] ?? 'the method is over'}; the issuer is asked`,
  'challenge required': (facts) => joined('; ', answerText(facts), idsIn(facts)),
  'challenge returned': () => 'the browser is back from the challenge; the issuer sends the result',
  authenticated: (facts) =>
    joined(
      '; ',
      answerText(facts) ?? 'the issuer gave no proof',
      isProven(facts) ? undefined : 'the endpoint authorises anyway',
      idsIn(facts),
    ),
  'not authenticated': (facts, t) => joined('; ', answerText(facts), refusalOf(facts, t), idsIn(facts)),
  'result missing': (facts, t) => refusalOf(facts, t) ?? '',
  'authentication demanded': ({ action_code: code, three_ds_server_trans_id: id }) =>
    `the acquirer demands authentication (action code ${code}); a mandated challenge begins, threeDSServerTransID ${id}`,
}

const isProven = ({ status }: Facts): boolean => status === 'Y' || status === 'A'

/** The code that the merchant receives, with its text if it is still the transaction's. */
function refusalOf({ error_code: code }: Facts, { result }: Transaction): string | undefined {
  if (code === undefined || code === '') return undefined
  return joined(' ', code, code === result.errorCode ? result.errorMessage : undefined)
}

function idsIn({ acs_trans_id: acs, ds_trans_id: ds }: Facts): string | undefined {
  return joined(', ', named('acsTransID', acs), named('dsTransID', ds)) || undefined
}

function wentOf(event: string, facts: Facts): 'well' | 'badly' | undefined {
  if (event === 'authenticated') return isProven(facts) ? 'well' : undefined
  return event === 'not authenticated' || event === 'result missing' ? 'badly' : undefined
}

/**
 * An event of 3-D Secure in words, from its facts and the current transaction. Undefined for other
 * events.
 */
export function authenticationEvent(event: string, facts: Facts, transaction: Transaction) {
  if (!Object.hasOwn(sentences, event)) return undefined
  return { says: sentences[event]!(facts, transaction), went: wentOf(event, facts) }
}

/** The fields of an authentication that programs may read. */
export const authenticationJson = ({ authentication: a }: Transaction) =>
  a === undefined
    ? null
    : {
        ...jsonOf(pick(a, 'round', 'directory', 'version', 'acsTransId', 'dsTransId', 'challengeIndicator', 'compInd')),
        ...jsonOf(pick(a, 'interactionCounter', 'status', 'statusReason', 'challengeCancel', 'eci')),
        three_ds_server_trans_id: a.threeDSServerTransId,
        xid: a.legacy?.xid ?? null,
        challenged: a.acsUrl !== undefined,
      }
