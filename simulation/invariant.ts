/** What must hold, each by the name under which it is reported broken. */
export type Invariant =
  | 'an acknowledged order exists'
  | 'every order ends'
  | 'the books are equal'
  | 'an attempt is recorded before it is sent'
  | 'an attempt is sent once'
  | 'names are used once'
  | 'nobody sends without its lease'
  | 'a reversal never overtakes its original'
  | 'a final status stays'
  | 'no decision is lost'
  | 'one live order a name'
  | 'the same request has the same answer'
  | 'a CVV2 is gone when it is not needed'
  | 'an outcome is told once to each'
  | 'every outcome is told'
  | 'delivered means accepted'
  | 'nothing is leased forever'
  | 'a lease is taken by an event or a claim'
  | 'nothing is charged that was not authenticated'
  | 'an authentication is used once'
  | 'the acquirer gets the proof that the issuer gave'
  | 'an issuer is asked once'
  | 'only the issuer says how an authentication ended'
  | 'a confirmed result counts'
  | 'a result is taken once'
  | 'a proof is gone when it is not needed'
  | 'an upload is answered alike'
  | 'no more is captured than was authorised'
  | 'no more is returned than was settled'
  | 'what is released is not charged'
  | 'a request is done once'
  | 'a request is done as it was asked'
  | 'a list of amounts is charged once'
  | 'nobody charges the card of another merchant'
  | 'the acquirer can read what it is sent'
  | 'limits are never exceeded'
  | 'a limit refuses only what it must'
  | 'what is filtered is never charged'

export interface Broken {
  invariant: Invariant
  why: string
  /** Simulated milliseconds since the start. */
  at: number
}

export type Breaks = (invariant: Invariant, why: string) => void
