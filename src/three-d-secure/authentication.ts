/**
 * Everything stored about one authentication by EMV 3-D Secure, kept with its transaction. Facts,
 * never decisions: those are in interpret.ts.
 */
import type { Version, ChallengeIndicator } from '../spec/three-d-secure/kinds.ts'

/** UUIDs are compared without regard to case, which not every sender keeps. */
export const sameId = (one: unknown, other: string | undefined): boolean =>
  typeof one === 'string' && one.toLowerCase() === other?.toLowerCase()

/** Versions the gateway speaks, lowest first. */
export const versions = ['2.1.0', '2.2.0'] as const satisfies readonly Version[]

/** A version of EMV 3-D Secure, or the protocol before it if the installation still speaks that. */
export type AnyVersion = Version | '1.0.2'

/** An issuer's final answers, and C: a challenge follows. */
export type TransStatus = 'Y' | 'A' | 'N' | 'R' | 'U' | 'I' | 'C'

/** Whether the issuer's method ran: done, not done, or there is none. */
export type CompInd = 'Y' | 'N' | 'U'

/** Facts about the cardholder's browser, spelled as in AReq. */
export interface BrowserData {
  acceptHeader: string
  userAgent: string
  language: string
  javascriptEnabled: boolean
  javaEnabled?: boolean
  colorDepth?: string
  screenHeight?: string
  screenWidth?: string
  /** Minutes, positive west of UTC. */
  timeZone?: string
  ip?: string
}

/** How long to wait for a directory server's answer to a request about a payment. */
export const answerWithinMs = 10_000

export interface Authentication {
  /** 1, or 2 for the authentication that an acquirer demanded after the first. */
  round: number
  /** Name of the directory server whose range includes the card. */
  directory: string
  version: AnyVersion
  /**
   * Created before the method is called and used in every message; with 1.0.2 only a name of ours.
   */
  threeDSServerTransId: string
  /** Identifies the gateway's own page; 22 unguessable characters. */
  pageToken: string
  /** The URL of the issuer's method; absent if the card range has none. */
  methodUrl?: string
  challengeIndicator?: ChallengeIndicator
  compInd?: CompInd
  browser?: BrowserData
  /**
   * When the gateway stops waiting for the method that its own page began; absent while it knows
   * too little to ask the issuer without more data.
   */
  methodUntil?: number
  /** Where a challenge sends the browser: to the merchant, or, when absent, to the gateway. */
  notificationUrl?: string
  /** Only for 1.0.2. */
  legacy?: LegacyFacts
  acsTransId?: string
  dsTransId?: string
  /** The last status from the issuer: in ARes, then in RReq. */
  status?: TransStatus
  statusReason?: string
  /** As received; absent if the issuer sent none. */
  eci?: string
  /** Proof for the acquirer, sealed; erased once it has been used. */
  authenticationValue?: string
  acsUrl?: string
  /** The issuer's text for the cardholder. */
  cardholderInfo?: string
  challengeCancel?: string
  interactionCounter?: string
  /** When the browser came back from the challenge. The result comes from the issuer, by RReq. */
  cresAt?: number
}

/** The values of the PAReq, so that it can be written again and compared with the answer. */
export interface LegacyFacts {
  messageId: string
  xid: string
  md: string
  acquirerBin: string
  merchantId: string
  /** `YYYYMMDD HH:MM:SS`, GMT. */
  purchaseDate: string
  /** The issuer's alias of the card, from VERes. */
  accountId?: string
}

/** `verified-3d-status`: authenticated or attempted; refused; not possible; not run. */
export type VerifiedStatus = 'AUTHENTICATED' | 'NOT_AUTHENTICATED' | 'UNSUPPORTED' | 'UNKNOWN'

/** For messages that only 2.x has. Throws for 1.0.2, which is a defect. */
export function emvVersion({ version }: Authentication): Version {
  if (version === '1.0.2') throw new Error('this step is not of 3-D Secure 1.0.2')
  return version
}
