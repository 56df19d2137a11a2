import { uuid, type Random } from '../../src/base/random.ts'
import type { TransStatus } from '../../src/three-d-secure/authentication.ts'
import type { Version } from '../../src/spec/three-d-secure/kinds.ts'
import type { Directory } from '../model/configuration.ts'
import { withOddities } from './issuer-oddities.ts'

export type Json = Readonly<Record<string, unknown>>

/** A transaction at an issuer's ACS. */
export interface Passage {
  threeDSServerTransID: string
  acsTransID: string
  dsTransID: string
  version: Version
  /** Whether a payment is authenticated, or only a card. */
  category: string
  /** Mastercard issuers' proofs are a byte longer. */
  isMastercard: boolean
  directory: Directory
  /** The status in the ARes. */
  status: Exclude<TransStatus, 'I'>
  /** Set when the challenge is over. A browser that returns later gets the same CRes. */
  cres?: string
}

/** The result of an authentication, as an issuer sent it in an ARes or an RReq. */
export interface IssuerResult {
  by: 'ARes' | 'RReq'
  status: TransStatus
  acsTransID: string
  dsTransID: string
  version: string
  eci?: string
  proof?: string
  /** Sent by the right issuer and directory server, with the identifiers of the transaction. */
  genuine: boolean
  /** It reached a gateway. */
  reached: boolean
  /** Which process first confirmed it with an RRes, and when. */
  confirmed?: { by: string; at: number }
}

export interface Ending {
  status: Exclude<TransStatus, 'I' | 'C'>
  reason?: string
  cancel?: string
}

const commonEci = { Y: '05', A: '06', N: '07', R: '07', U: '07', C: undefined, I: undefined } as const
/** Not every issuer sends an ECI for each status. */
const eciOf = (passage: Passage, status: TransStatus): string | undefined =>
  passage.directory === 'north' || status === 'Y' ? commonEci[status] : undefined

/** Every proof is unique, so that it identifies its message. */
const proofOf = ({ isMastercard }: Passage, status: TransStatus, random: Random): string | undefined =>
  status === 'Y' || status === 'A' ? random.bytes(isMastercard ? 21 : 20).toString('base64') : undefined

const names = ({ version, threeDSServerTransID, acsTransID, dsTransID }: Passage) => ({
  messageVersion: version,
  threeDSServerTransID,
  acsTransID,
  dsTransID,
})

export function aresOf(passage: Passage, random: Random): { message: Json; result: IssuerResult } {
  const { status } = passage
  const eci = eciOf(passage, status)
  const proof = proofOf(passage, status, random)
  const message = {
    messageType: 'ARes',
    ...names(passage),
    acsReferenceNumber: 'SIM_ACS',
    dsReferenceNumber: 'SIM_DS',
    transStatus: status,
    ...reasonOf({ status, ...(status === 'N' ? { reason: '01' } : {}) }),
    ...(proof === undefined ? {} : { authenticationValue: proof }),
    ...(eci === undefined ? {} : { eci }),
    ...(status === 'C' ? { acsURL: 'https://issuer.test/challenge', acsChallengeMandated: 'N', authenticationType: '02' } : {}),
  }
  return withOddities({ message, result: resultOf('ARes', passage, status, eci, proof) })
}

export function rreqOf(passage: Passage, ending: Ending, random: Random): { message: Json; result: IssuerResult } {
  const { status, cancel } = ending
  const eci = eciOf(passage, status)
  const proof = proofOf(passage, status, random)
  const message = {
    messageType: 'RReq',
    ...names(passage),
    messageCategory: passage.category,
    transStatus: status,
    ...reasonOf(ending),
    ...(proof === undefined ? {} : { authenticationValue: proof }),
    ...(eci === undefined ? {} : { eci }),
    authenticationType: '02',
    interactionCounter: '01',
    ...(cancel === undefined ? {} : { challengeCancel: cancel }),
  }
  return withOddities({ message, result: resultOf('RReq', passage, status, eci, proof) })
}

const reasons = { N: '01', R: '11', U: '06', Y: undefined, A: undefined } as const
const reasonOf = ({ status, reason }: { status: TransStatus; reason?: string }) => {
  const why = reason ?? (status in reasons ? reasons[status as keyof typeof reasons] : undefined)
  return why === undefined ? {} : { transStatusReason: why }
}

const resultOf = (
  by: IssuerResult['by'],
  p: Passage,
  status: TransStatus,
  eci: string | undefined,
  proof: string | undefined,
): IssuerResult => ({
  by,
  status,
  acsTransID: p.acsTransID,
  dsTransID: p.dsTransID,
  version: p.version,
  ...(eci === undefined ? {} : { eci }),
  ...(proof === undefined ? {} : { proof }),
  genuine: true,
  reached: false,
})

/** Encodes a message as the browser carries it. */
const inBrowser = (message: Json): string => Buffer.from(JSON.stringify(message)).toString('base64url')
export const outOfBrowser = (param: string): Json => JSON.parse(Buffer.from(param, 'base64url').toString()) as Json

export const cresOf = (named: Json, transStatus: 'Y' | 'N'): string =>
  inBrowser({
    messageType: 'CRes',
    messageVersion: named['messageVersion'] ?? named['version'],
    threeDSServerTransID: named['threeDSServerTransID'],
    acsTransID: named['acsTransID'],
    transStatus,
  })

export const newPassage = (areq: Json, directory: Directory, status: Passage['status'], random: Random): Passage => ({
  threeDSServerTransID: String(areq['threeDSServerTransID']),
  acsTransID: uuid(random),
  dsTransID: uuid(random),
  version: areq['messageVersion'] as Version,
  category: String(areq['messageCategory']),
  isMastercard: String(areq['acctNumber']).startsWith('5'),
  directory,
  status,
})
