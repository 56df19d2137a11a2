import type { Secret } from '../base/secret.ts'
import type { GateSecrets } from '../merchant/merchant.ts'
import type { GateRow } from '../merchant/fields/gate.ts'

/** The settings of a gate that its line needs. All amounts here are in minor units. */
export interface GateSettings extends Pick<
  GateRow,
  | 'host'
  | 'port'
  | 'tls'
  | 'plainLine'
  | 'mac'
  | 'terminalId'
  | 'cardAcceptorId'
  | 'cardAcceptorName'
  | 'acquirerId'
  | 'mcc'
  | 'answerTimeoutMs'
> {
  gateId: bigint
  secrets?: GateSecrets
}

/** The names by which both sides know an attempt; recorded before anything is sent. */
export interface AttemptNames {
  stan: string
  rrn: string
  /** Wall time of the attempt; becomes field 12, to the second. */
  startedAt: number
}

export interface Authorisation extends AttemptNames {
  /** `transfer` debits the source, `credit` pays the amount out to another card. */
  kind: 'sale' | 'preauth' | 'account-verification' | 'transfer' | 'credit'
  orderId: bigint
  amountMinor: bigint
  currencyNumeric: string
  pan: Secret<string>
  /** `YYMM`; a credit needs none. */
  expiry?: string
  cvv2?: Secret<string>
  /** Result of 3-D Secure, if it ran. */
  authentication?: {
    eci?: string
    authenticationValue?: string
    dsTransId?: string
    version?: string
    method?: 'challenge' | 'frictionless' | 'attempt'
  }
  /** Present for a card that was registered at an earlier payment. */
  recurrent?: { initiator: string; scenario: string; networkReference?: string }
  /** Sent again under the same names; only for gates that recognise repeats. */
  repeat: boolean
}

/** A capture of a preauthorisation, or a return of captured money, in full or in part. */
export interface FollowUp extends AttemptNames {
  kind: 'capture' | 'return'
  orderId: bigint
  amountMinor: bigint
  /** The amount of the payment it refers to. */
  originalMinor: bigint
  currencyNumeric: string
  original: AttemptNames & { kind: Authorisation['kind'] }
  repeat: boolean
}

export interface Reversal extends AttemptNames {
  orderId: bigint
  reason: 'no answer' | 'cancelled' | 'unusable answer'
  amountMinor: bigint
  currencyNumeric: string
  /** Message type and processing code of the original, and the names it was sent under. */
  original: AttemptNames & { kind: Authorisation['kind'] | FollowUp['kind'] }
  repeat: boolean
}

/** Facts of a payment that only the acquirer knows; each is absent unless the reply had it. */
export interface ProcessorData {
  /** When the acquirer processed it, in milliseconds since 1970. */
  processedAt?: number
  rrn?: string
  processorTxId?: string
  approvalCode?: string
  terminalId?: string
  networkReference?: string
  productCode?: string
  productName?: string
  typeCode?: string
  typeName?: string
  issuerCountry?: string
  issuerName?: string
  loyaltyBalance?: string
  loyaltyMessage?: string
  loyaltyBonus?: string
  loyaltyProgram?: string
  motivationalMessage?: string
}

/**
 * The result of a message to the acquirer. `waitedMs` is how long the line waited for an answer;
 * absent if an unusable answer came. `not sent` is certain: no byte of it left this process.
 * `unknown` is everything else without a usable answer, so money may have moved.
 */
export type Outcome =
  | { is: 'approved'; actionCode: string; data: ProcessorData }
  | { is: 'declined'; actionCode: string; text?: string; data: ProcessorData }
  | { is: 'unknown'; why: string; waitedMs?: number }
  | { is: 'not sent'; why: string }

/** `isUnpackable`: no later try can send it either. */
export type ReversalOutcome =
  | { is: 'acknowledged'; actionCode: string }
  | { is: 'unknown'; why: string }
  | { is: 'not sent'; why: string; isUnpackable?: true }

/**
 * A message of the acquirer that answers no request. `unexpected`: no open request has its names.
 * `mismatched`: one has, but the rest of the message belongs to another request.
 */
export interface Stray {
  stan: string
  terminalId: string
  kind: 'unexpected' | 'mismatched' | 'unauthentic'
}

/**
 * A line to one gate. `authorise` and `reverse` always resolve, at the latest at `deadline`
 * (monotonic milliseconds of the clock that was passed to the connector). They wait for the line to
 * come up, send at most once, and never send after `mayStillSend` turned false, which they call
 * right before the socket write. After a reversal ended as `unknown`, `onLate` is called if it is
 * acknowledged all the same before its next try.
 */
export interface Connector {
  authorise(ask: Authorisation, deadline: number, mayStillSend: () => boolean): Promise<Outcome>
  follow(ask: FollowUp, deadline: number, mayStillSend: () => boolean): Promise<Outcome>
  reverse(
    ask: Reversal,
    deadline: number,
    mayStillSend: () => boolean,
    onLate?: (actionCode: string) => void,
  ): Promise<ReversalOutcome>
  /** Open requests on the line, and whether it is signed on. */
  state(): { up: boolean; open: number }
  close(): Promise<void>
}
