/**
 * 3-D Secure of an order in words. The proof for the acquirer, the addresses of its pages and the
 * cardholder's browser are never shown.
 */
import { defined } from '../../base/defined.ts'
import type { Transaction } from '../../order/decide/order.ts'
import type { Authentication, TransStatus } from '../../three-d-secure/authentication.ts'
import { jsonOf, pick } from '../../entity/json.ts'

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
const meant = (codes: Readonly<Record<string, string>>, code: string): string =>
  Object.hasOwn(codes, code) ? `${code}, ${codes[code]}` : code

const wordsOf = (...parts: (string | undefined)[]): string => parts.filter((part) => part !== undefined).join('; ')

/** The issuer's result: `authenticated (Y); ECI 05`. Undefined if there is none. */
function answerText(about: { status?: string; reason?: string; cancel?: string; eci?: string }): string | undefined {
  if (about.status === undefined) return undefined
  const status = Object.hasOwn(statuses, about.status) ? statuses[about.status as TransStatus] : 'an unknown status'
  return wordsOf(
    `${status} (${about.status})`,
    about.reason === undefined ? undefined : `reason ${meant(reasons, about.reason)}`,
    about.cancel === undefined ? undefined : `cancel ${meant(cancels, about.cancel)}`,
    about.eci === undefined ? undefined : `ECI ${about.eci}`,
  )
}

/**
 * One line for the head of an order: the current state or the end. Undefined without 3-D Secure.
 */
export function authenticationText({ authentication: a, result }: Transaction): string | undefined {
  if (a === undefined && result.verified === undefined) return undefined
  const answer = a && answerText({ ...namedAsFacts(a), ...(result.eci === undefined ? {} : { eci: result.eci }) })
  const byNetwork = answer === undefined && result.eci !== undefined ? `ECI ${result.eci}` : undefined
  return wordsOf(
    a === undefined ? 'not performed' : `${a.version} by ${a.directory}${a.round > 1 ? ', the second one' : ''}`,
    answer ?? byNetwork,
    a?.legacy === undefined ? undefined : `XID ${a.legacy.xid}`,
    result.verified === undefined ? undefined : `verified-3d-status ${result.verified}`,
  )
}

const namedAsFacts = ({ status, statusReason, challengeCancel, eci }: Authentication) =>
  defined({ status, reason: statusReason, cancel: challengeCancel, eci })

interface Sentence {
  says: string
  went?: 'well' | 'badly'
}

type Fact = (name: string) => string | undefined

/** The text for each event of 3-D Secure; other events have none here. */
const sentences: Readonly<Record<string, (fact: Fact, transaction: Transaction) => Sentence>> = {
  'authentication begun': (fact) => ({
    says: `3-D Secure ${fact('version')} begins, threeDSServerTransID ${fact('three_ds_server_trans_id')}`,
  }),
  'enrolment unknown': (fact) => ({
    says: `3-D Secure ${fact('version')} begins: the directory server is asked whether the card is enrolled`,
  }),
  'payer authentication required': (fact) => ({
    says: wordsOf('the card is enrolled; the issuer authenticates by the browser', answerText(learned(fact))),
  }),
  'authentication waived': (_fact, t) => ({
    says:
      '3-D Secure is not possible for this card; the endpoint authorises all the same' +
      (t.result.eci === undefined ? '' : `, ECI ${t.result.eci}`),
  }),
  'method begun': () => ({ says: 'the cardholder is on the hosted page; the issuer is asked in 10 s at the latest' }),
  'method uploaded': (fact) => ({ says: `${methods[fact('comp_ind') ?? ''] ?? 'the method is over'}; the issuer is asked` }),
  'challenge required': (fact) => ({ says: wordsOf(answerText(learned(fact)), idsIn(fact)) }),
  'challenge returned': () => ({ says: 'the browser is back from the challenge; the issuer tells how it went' }),
  authenticated: (fact) => {
    const answer = answerText(learned(fact))
    const proven = fact('status') === 'Y' || fact('status') === 'A'
    return {
      ...(proven ? { went: 'well' as const } : {}),
      says: wordsOf(
        answer ?? 'nothing is proven by the issuer',
        proven ? undefined : 'the endpoint authorises all the same',
        idsIn(fact),
      ),
    }
  },
  'not authenticated': (fact, t) => ({
    went: 'badly',
    says: wordsOf(answerText(learned(fact)), refusalOf(fact, t), idsIn(fact)),
  }),
  'result missing': (fact, t) => ({ went: 'badly', says: wordsOf(refusalOf(fact, t)) }),
  'authentication demanded': (fact) => ({
    says:
      `the acquirer demands authentication (action code ${fact('action_code')}); ` +
      `a mandated challenge begins, threeDSServerTransID ${fact('three_ds_server_trans_id')}`,
  }),
}

function learned(fact: Fact) {
  const [status, reason, cancel, eci] = [fact('status'), fact('reason'), fact('cancel'), fact('eci')]
  return defined({ status, reason, cancel, eci })
}

/** The code that the merchant receives, with its text if it is still the transaction's. */
function refusalOf(fact: Fact, { result }: Transaction): string | undefined {
  const code = fact('error_code')
  if (code === undefined || code === '') return undefined
  return code === result.errorCode && result.errorMessage !== undefined ? `${code} ${result.errorMessage}` : code
}

function idsIn(fact: Fact): string | undefined {
  const [acs, ds] = [fact('acs_trans_id'), fact('ds_trans_id')]
  if (acs === undefined && ds === undefined) return undefined
  return [...(acs === undefined ? [] : [`acsTransID ${acs}`]), ...(ds === undefined ? [] : [`dsTransID ${ds}`])].join(', ')
}

/**
 * An event of 3-D Secure in words, from its facts and the current transaction. Undefined for other
 * events.
 */
export function authenticationTold(event: string, facts: object, transaction: Transaction): Sentence | undefined {
  const all: Readonly<Record<string, unknown>> = { ...facts }
  const fact = (name: string) => (typeof all[name] === 'string' ? all[name] : undefined)
  return Object.hasOwn(sentences, event) ? sentences[event]!(fact, transaction) : undefined
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
