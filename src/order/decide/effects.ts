/**
 * The effect of each event on its transaction, besides the transition of the machine: one row per
 * event.
 */
import type { ProcessorData } from '../../acquirer/connector.ts'
import type { Authentication, VerifiedStatus } from '../../three-d-secure/authentication.ts'
import type { Verdict } from '../../three-d-secure/interpret.ts'
import type { Event, EventName, Named } from './event.ts'
import { neverSent } from './obligations.ts'
import type { Attempt, Transaction } from './order.ts'

export interface Effect<E> {
  /** How the event ends the attempt that it names; if absent, the attempt stays open. */
  ends?: (event: E) => Pick<Attempt, 'outcome' | 'actionCode' | 'why'>
  /** Fields that the event adds to the result of the transaction. */
  result?: (event: E, now: number) => Transaction['result']
  /** The authentication data after the event; if absent, unchanged. */
  authentication?: (event: E, before: Authentication | undefined) => Authentication | undefined
  /** The number of tries after the event; if absent, zero. */
  tries?: (before: number) => number
  /** Fields for the order's history. */
  facts?: (event: E) => object
}

/** ISO 8583 action codes that the gateway sets itself; docs/errors.md. */
const expiredCard = { errorCode: '101', errorMessage: 'Expired card' }
const answerLost = { errorCode: '911', errorMessage: 'Card issuer timed out' }

/** The acquirer's own date is used if its message has one. */
const processed = ({ processedAt, ...processor }: ProcessorData, now: number) => ({ processor, processedAt: processedAt ?? now })

const verifiedAs = (verified: VerifiedStatus, eci: string | undefined) => (eci === undefined ? { verified } : { verified, eci })
const verdictOf = ({ verified, errorCode, errorMessage }: Verdict) => ({ verified, errorCode, errorMessage })

/** The authentication data that operators need; never the proof. */
const learnedFacts = (l: Partial<Authentication>) => ({
  status: l.status,
  reason: l.statusReason,
  cancel: l.challengeCancel,
  eci: l.eci,
  acs_trans_id: l.acsTransId,
  ds_trans_id: l.dsTransId,
})

const begins = {
  authentication: ({ authentication }: { authentication: Authentication }) => authentication,
  facts: ({ authentication: { version, threeDSServerTransId } }: { authentication: Authentication }) => ({
    version,
    three_ds_server_trans_id: threeDSServerTransId,
  }),
}
const learns = {
  authentication: ({ learned }: { learned: Partial<Authentication> }, before: Authentication | undefined) =>
    before && { ...before, ...learned },
}
const answered = {
  result: ({ data, gate, receiptId }: Named<'approved' | 'debited'>, now: number) => ({
    receiptId,
    ...processed(data, now),
    ...gate,
  }),
  facts: ({ actionCode }: { actionCode: string }) => ({ action_code: actionCode }),
}
const refused = {
  result: ({ code, message }: { code: string; message: string }) => ({ errorCode: code, errorMessage: message }),
  facts: ({ code }: { code: string }) => ({ error_code: code }),
}
const why = { facts: (event: { why: string }) => ({ why: event.why }) }
const endedAs =
  (outcome: 'approved' | 'declined') =>
  ({ actionCode }: { actionCode: string }) => ({ outcome, actionCode })
const onceMore = (before: number) => before + 1

const effects: { [Name in EventName]: Effect<Named<Name>> } = {
  accepted: {},
  requested: {},
  'screened clean': {},
  filtered: { ...refused, facts: ({ score, rules }) => ({ score, rules }) },
  refused: refused,
  'card expired': { result: () => expiredCard },
  'authentication begun': begins,
  'enrolment unknown': begins,
  'payer authentication required': { ...learns, facts: ({ learned }) => learnedFacts(learned) },
  'authentication waived': { result: ({ verified, eci }) => verifiedAs(verified, eci) },
  'method begun': learns,
  'method uploaded': { ...learns, facts: ({ learned }) => ({ comp_ind: learned.compInd }) },
  'challenge required': { ...learns, facts: ({ learned }) => learnedFacts(learned) },
  'challenge returned': learns,
  authenticated: {
    ...learns,
    result: ({ verified, eci }) => verifiedAs(verified, eci),
    facts: ({ learned }) => learnedFacts(learned),
  },
  'not authenticated': {
    ...learns,
    result: ({ verdict, eci }) => ({ ...verdictOf(verdict), ...(eci === undefined ? {} : { eci }) }),
    facts: ({ learned, verdict }) => ({ ...learnedFacts(learned), error_code: verdict.errorCode }),
  },
  'result missing': {
    result: ({ verdict }) => verdictOf(verdict),
    facts: ({ verdict }) => ({ error_code: verdict.errorCode }),
  },
  'authentication demanded': {
    ends: endedAs('declined'),
    authentication: ({ authentication }) => authentication,
    facts: ({ actionCode, authentication }) => ({
      action_code: actionCode,
      three_ds_server_trans_id: authentication.threeDSServerTransId,
    }),
  },
  'attempt recorded': {
    result: ({ attempt }) => ({ gateId: String(attempt.gateId) }),
    facts: ({ attempt: { gateId, stan, rrn } }) => ({ gate: String(gateId), stan, rrn }),
  },
  'no gate': { result: () => neverSent },
  approved: { ...answered, ends: endedAs('approved') },
  debited: { ...answered, ends: endedAs('approved') },
  credited: {},
  'credit refused': refused,
  'debit returned': {},
  declined: {
    ...answered,
    ends: endedAs('declined'),
    result: ({ data, gate, actionCode, text }, now) => ({
      errorCode: actionCode,
      errorMessage: text,
      ...processed(data, now),
      ...gate,
    }),
  },
  'amount declined': {
    ends: endedAs('declined'),
    facts: ({ actionCode, next }) => ({ action_code: actionCode, next_amount: next.text }),
  },
  'not sent': { ...why, ends: (event) => ({ outcome: 'not sent', why: event.why }), result: () => neverSent },
  'answer lost': { ...why, ends: (event) => ({ outcome: 'unknown', why: event.why }) },
  'answer awaited': { ...why, tries: onceMore },
  'lease lost': { ends: () => ({ outcome: 'unknown', why: 'the process that sent it is gone' }) },
  reversed: { result: () => answerLost },
  owed: {},
  'taken up': { tries: (before) => before },
  'reversal unanswered': { ...why, tries: onceMore },
  'reversal acknowledged': {
    ends: endedAs('approved'),
    result: (_event, now) => ({ processedAt: now }),
    facts: answered.facts,
  },
}

/** The row of an event. The compiler knows that each event has one, but cannot tell which. */
export const effectOf = (event: Event): Effect<Event> => effects[event.is] as Effect<Event>
