import type { EventName } from './event.ts'
import type { State, Step } from './order.ts'

export interface Transition {
  from: State
  on: EventName
  to: State
  /** The next step of the transaction; if absent, the transaction rests. */
  asks?: Step
}

const row = (from: State, on: EventName, to: State, asks?: Step): Transition =>
  asks === undefined ? { from, on, to } : { from, on, to, asks }

/**
 * Every possible transition. `decide` refuses any other, and so does the database: a constraint of
 * `order_event` lists them, and a migration changes it.
 */
// oxfmt-ignore
export const machine: readonly Transition[] = [
  //  from           on                  to             asks
  row('new',         'accepted',         'filtering'),
  row('filtering',   'screened clean',   'ready',       'record attempt'),
  row('filtering',   'filtered',         'filtered'),
  row('filtering',   'card expired',     'declined'),
  row('filtering',   'refused',          'declined'),
  //  3-D Secure: the issuer's method, the request to the issuer, perhaps a challenge; nothing is
  //  authorised before its result
  row('filtering',          'authentication begun',  'awaiting method',    'await method'),
  row('filtering',          'authentication waived', 'ready',              'record attempt'),
  row('filtering',          'not authenticated',     'declined'),
  row('awaiting method',    'method begun',          'awaiting method',    'await method'),
  row('awaiting method',    'method uploaded',       'authenticating',     'authenticate'),
  row('awaiting method',    'not authenticated',     'declined'),
  row('authenticating',     'authenticated',         'ready',              'record attempt'),
  row('authenticating',     'not authenticated',     'declined'),
  row('authenticating',     'challenge required',    'awaiting challenge', 'await challenge'),
  row('awaiting challenge', 'challenge returned',    'awaiting challenge', 'await challenge'),
  row('awaiting challenge', 'authenticated',         'ready',              'record attempt'),
  row('awaiting challenge', 'not authenticated',     'declined'),
  row('awaiting challenge', 'result missing',        'error'),
  row('authorising',        'authentication demanded', 'authenticating',   'authenticate'),
  //  3-D Secure 1.0.2, if the installation speaks it: the directory server is asked about the card,
  //  and the issuer answers through the browser, signed
  row('filtering',          'enrolment unknown',     'enrolling',          'enrol'),
  row('enrolling',          'payer authentication required', 'awaiting pares', 'await pares'),
  row('enrolling',          'authenticated',         'ready',              'record attempt'),
  row('enrolling',          'not authenticated',     'declined'),
  row('awaiting pares',     'authenticated',         'ready',              'record attempt'),
  row('awaiting pares',     'not authenticated',     'declined'),
  row('ready',       'attempt recorded', 'authorising', 'authorise'),
  row('ready',       'no gate',          'error'),
  row('authorising', 'approved',         'approved'),
  row('authorising', 'declined',         'declined'),
  row('authorising', 'amount declined',  'ready',       'record attempt'),
  row('authorising', 'not sent',         'error'),
  row('authorising', 'answer lost',      'unknown'),
  row('authorising', 'answer awaited',   'authorising', 'authorise'),
  row('authorising', 'lease lost',       'unknown'),
  row('unknown',     'reversed',         'error'),
  //  a transfer: the source is debited, then a separate transaction credits the destination; the
  //  debit is reversed only if the credit certainly failed
  row('authorising', 'debited',          'crediting'),
  row('crediting',   'credited',         'approved'),
  row('crediting',   'credit refused',   'returning'),
  row('returning',   'debit returned',   'declined'),
  row('returning',   'reversed',         'error'),
  //  a follow-up of an approved order: a capture or return is one message, like a payment; a void or
  //  cancel is repeated until it is acknowledged
  row('new',         'requested',        'ready',       'record attempt'),
  //  the reversal that the gateway owes after a payment with an unknown outcome
  row('new',         'owed',                  'owed',      'record attempt'),
  row('owed',        'attempt recorded',      'reversing', 'reverse'),
  row('reversing',   'taken up',              'reversing', 'reverse'),
  row('reversing',   'reversal unanswered',   'reversing', 'reverse'),
  row('reversing',   'reversal acknowledged', 'approved'),
]

const transitions = new Map(machine.map((transition) => [`${transition.from}>${transition.on}`, transition]))

export const transitionFor = (from: State, on: EventName): Transition | undefined => transitions.get(`${from}>${on}`)

/** As `order_event` stores it. */
export const transitionText = ({ from, on, to }: Pick<Transition, 'from' | 'on' | 'to'>): string => `${from}>${on}>${to}`
