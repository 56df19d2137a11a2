/** Names of all invariants, as reports of broken ones show them. */
export type Invariant =
  | 'a merchant is in one cell'
  | 'a duty is done once at a time'
  | 'an id is drawn once'
  | 'a nonce is good once'
  | 'an acknowledged order exists'
  | 'every order ends'
  | 'the books are equal'
  | 'counts are what is stored'
  | 'an attempt is recorded before it is sent'
  | 'an attempt is sent once'
  | 'names are used once'
  | 'no process sends without its lease'
  | 'a reversal never overtakes its original'
  | 'what may still be answered is left alone'
  | 'time without the database counts against no process'
  | 'a known dead process is taken over immediately'
  | 'an answer is waited for'
  | 'a final status stays'
  | 'no decision is lost'
  | 'one live order a name'
  | 'the same request has the same answer'
  | 'a CVV2 is gone when it is not needed'
  | 'what came with a CVV2 is not charged without it'
  | 'an outcome is sent once to each'
  | 'every outcome is reported'
  | 'delivered means accepted'
  | 'nothing is leased forever'
  | 'a lease is taken by an event or a claim'
  | 'nothing is charged that was not authenticated'
  | 'an authentication is used once'
  | 'the acquirer gets the proof that the issuer gave'
  | 'an issuer is asked once'
  | 'what an issuer says is understood'
  | 'only the issuer says how an authentication ended'
  | 'a confirmed result counts'
  | 'a result is taken once'
  | 'a proof is gone when it is not needed'
  | 'a repeated upload has the same answer'
  | 'a hosted page does not hold the payment up'
  | 'no more is captured than was authorised'
  | 'no more is returned than was settled'
  | 'what is released is not charged'
  | 'a request is done once'
  | 'a request is done as it was asked'
  | 'a repeat is of the same request'
  | 'a key names one request'
  | 'a list of amounts is charged once'
  | 'no merchant charges the card of another'
  | 'the acquirer can read what it is sent'
  | 'limits are never exceeded'
  | 'a limit refuses only what it must'
  | 'what is filtered is never charged'
  | 'an invoice ends once'
  | 'one order an invoice'
  | 'nothing is ordered that the merchant did not confirm'
  | 'what is declined is not charged'
  | 'a nonce makes one invoice'
  | 'a stranger learns nothing'
  | 'a card is sent where it is due'
  | 'a random sum is returned'
  | 'only the right sum confirms'
  | 'wrong sums are limited'
  | 'a form is one answer'
  | 'a transfer moves money once and whole'
  | 'nothing is paid out that was not debited'
  | 'the debit stays while the credit may stand'
  | 'the fee is the one that was chosen'

export interface Broken {
  invariant: Invariant
  why: string
  /** Simulated milliseconds since the start. */
  at: number
}

export type Breaks = (invariant: Invariant, why: string) => void

/** The fault, if there is one. */
export type Fault = string | false | undefined

/**
 * What must hold on one occasion, in the order in which faults are reported. Every check sees the
 * same view and changes nothing.
 */
export type Checks<View> = { readonly [I in Invariant]?: (view: View) => Fault }

export function check<View>(checks: Checks<View>, view: View, breaks: Breaks): void {
  for (const [invariant, faultOf] of Object.entries(checks)) {
    const why = faultOf(view)
    if (typeof why === 'string') breaks(invariant as Invariant, why)
  }
}
