/**
 * What an authentication by EMV 3-D Secure knows of itself; kept with the transaction it is about.
 * Facts, never decisions: those are in interpret.ts.
 */

/** Versions the gateway speaks, lowest first. */
export const versions = ['2.1.0', '2.2.0'] as const
export type Version = (typeof versions)[number]

/** One of the above, or the protocol before them where an installation still speaks it. */
export type AnyVersion = Version | '1.0.2'

/** Final answers of an issuer, and C: a challenge is to follow. */
export type TransStatus = 'Y' | 'A' | 'N' | 'R' | 'U' | 'I' | 'C'

/** 05 to 07 ask for data sharing or an exemption, to which I is an answer; 04 wants a challenge. */
export type ChallengeIndicator = '01' | '02' | '03' | '04' | '05' | '06' | '07' | '08' | '09'

/** Whether the issuer's method ran: done, not done, or there is none. */
export type CompInd = 'Y' | 'N' | 'U'

/** What is known of the cardholder's browser, spelled as AReq spells it. */
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

/** How long the answer of a directory server to a request about a payment is waited for. */
export const answerWithinMs = 10_000

export interface Authentication {
  /** 1, or 2 for the one an acquirer demanded after the first. */
  round: number
  /** Name of the directory server whose range the card is in. */
  directory: string
  version: AnyVersion
  /** Made before the method is called, used in every message; with 1.0.2 only a name of ours. */
  threeDSServerTransId: string
  /** Of the gateway's own page; 22 unguessable characters. */
  pageToken: string
  /** The issuer's method; absent where the card range has none. */
  methodUrl?: string
  challengeIndicator?: ChallengeIndicator
  compInd?: CompInd
  browser?: BrowserData
  /**
   * When the gateway goes on without the method that its own page began; absent while it could not
   * ask the issuer by itself.
   */
  methodUntil?: number
  /** Where a challenge sends the browser: to the merchant, or, when absent, to the gateway. */
  notificationUrl?: string
  /** Of 1.0.2 alone. */
  legacy?: LegacyFacts
  acsTransId?: string
  dsTransId?: string
  /** The last status an issuer gave: in ARes, then in RReq. */
  status?: TransStatus
  statusReason?: string
  /** As received; absent where the issuer gave none. */
  eci?: string
  /** Proof for the acquirer, sealed; erased when it has been used. */
  authenticationValue?: string
  acsUrl?: string
  /** Text of the issuer for the cardholder. */
  cardholderInfo?: string
  challengeCancel?: string
  interactionCounter?: string
  /** When the browser came back from the challenge; the result is the issuer's to tell, by RReq. */
  cresAt?: number
}

/** What the PAReq says, so that it can be written again and its answer compared with it. */
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

/** `verified-3d-status`: authenticated or attempted; refused; not possible; did not run. */
export type VerifiedStatus = 'AUTHENTICATED' | 'NOT_AUTHENTICATED' | 'UNSUPPORTED' | 'UNKNOWN'

/** For what only 2.x has. Throws where 1.0.2 came so far, which is a defect. */
export function emvVersion({ version }: Authentication): Version {
  if (version === '1.0.2') throw new Error('this step is not of 3-D Secure 1.0.2')
  return version
}
