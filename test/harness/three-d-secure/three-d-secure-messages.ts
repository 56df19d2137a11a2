/**
 * One good message of each type in each version, with every field that has a row. Written by hand
 * from the field lists of EMVCo, not from the tables.
 */
import type { Version } from '../../../src/spec/three-d-secure/kinds.ts'
import type { MessageType, MessageRead, Unusable } from '../../../src/three-d-secure/codec.ts'

export const serverId = '0739d5aa-1111-4222-8333-0123456789ab'
export const acsId = '1739d5aa-1111-4222-8333-0123456789ab'
export const dsId = '2739d5aa-1111-4222-8333-0123456789ab'
/** Twenty bytes. */
export const cavv = 'AAECAwQFBgcICQoLDA0ODxAREhM='

export type Fields = Record<string, unknown>

const noticed = { name: 'score', id: 'A000000658-1', criticalityIndicator: false, data: { score: 7, of: ['x', {}] } }
const whiteList = { whiteListStatus: 'Y', whiteListStatusSource: '03' }

const areq: Fields = {
  messageType: 'AReq',
  messageCategory: '01',
  deviceChannel: '02',
  threeDSServerTransID: serverId,
  threeDSServerRefNumber: 'SIM_3DSS_0001',
  threeDSServerOperatorID: 'OP-1',
  threeDSServerURL: 'https://3dss.example/3ds/results',
  threeDSRequestorID: 'REQ-1',
  threeDSRequestorName: 'Shop',
  threeDSRequestorURL: 'https://shop.example',
  threeDSRequestorAuthenticationInd: '01',
  threeDSRequestorChallengeInd: '03',
  threeDSCompInd: 'Y',
  acctNumber: '4000000000002011',
  acctType: '02',
  acctID: 'customer 7',
  cardExpiryDate: '3912',
  payTokenInd: true,
  acquirerBIN: '400551',
  acquirerMerchantID: 'M-1',
  mcc: '5999',
  merchantCountryCode: '840',
  merchantName: 'Shop & Söhne',
  purchaseAmount: '1050',
  purchaseCurrency: '840',
  purchaseExponent: '2',
  purchaseDate: '20240229235959',
  recurringExpiry: '20301231',
  recurringFrequency: '30',
  purchaseInstalData: '12',
  transType: '01',
  notificationURL: 'https://gate.example/3ds/aaaaaaaaaaaaaaaaaaaaaa/challenge',
  browserAcceptHeader: 'text/html,*/*;q=0.8',
  browserUserAgent: 'Mozilla/5.0 (X11; Linux x86_64)',
  browserLanguage: 'en-GB',
  browserIP: '2001:db8::7',
  browserJavaEnabled: false,
  browserColorDepth: '24',
  browserScreenHeight: '1080',
  browserScreenWidth: '1920',
  browserTZ: '-120',
  cardholderName: 'ADA LOVELACE',
  email: 'ada@example.com',
  homePhone: { cc: '44', subscriber: '2071234567' },
  mobilePhone: { cc: '1', subscriber: '5551234567' },
  workPhone: { cc: '358', subscriber: '91234' },
  addrMatch: 'N',
  billAddrCity: 'London',
  billAddrCountry: '826',
  billAddrLine1: '1 Dorset Street',
  billAddrLine2: 'Flat 2',
  billAddrLine3: 'Top',
  billAddrPostCode: 'W1U 4EG',
  billAddrState: 'ENG',
  shipAddrCity: 'Paris',
  shipAddrCountry: '250',
  shipAddrLine1: '1 rue X',
  shipAddrLine2: 'b',
  shipAddrLine3: 'c',
  shipAddrPostCode: '75001',
  shipAddrState: '75',
  messageExtension: [noticed],
}

const ares: Fields = {
  messageType: 'ARes',
  threeDSServerTransID: serverId,
  acsTransID: acsId,
  dsTransID: dsId,
  acsReferenceNumber: 'SIM_ACS_0001',
  acsOperatorID: 'ACS-OP',
  dsReferenceNumber: 'SIM_DS_0001',
  transStatus: 'Y',
  transStatusReason: '17',
  authenticationValue: cavv,
  eci: '05',
  acsURL: 'https://acs.example/challenge?id=1',
  acsChallengeMandated: 'N',
  authenticationType: '02',
  cardholderInfo: 'Call your bank: +44 20 7123',
  messageExtension: [noticed],
}

const challenge: Fields = { threeDSServerTransID: serverId, acsTransID: acsId, messageExtension: [noticed] }

const rreq: Fields = {
  messageType: 'RReq',
  messageCategory: '01',
  threeDSServerTransID: serverId,
  acsTransID: acsId,
  dsTransID: dsId,
  transStatus: 'Y',
  transStatusReason: '17',
  authenticationValue: cavv,
  authenticationType: '02',
  eci: '05',
  interactionCounter: '01',
  challengeCancel: '07',
  messageExtension: [noticed],
}

const range: Fields = {
  startRange: '4000000000000000',
  endRange: '4000000000009999',
  actionInd: 'A',
  acsStartProtocolVersion: '2.1.0',
  acsEndProtocolVersion: '2.2.0',
  dsStartProtocolVersion: '2.1.0',
  dsEndProtocolVersion: '2.3.1',
  threeDSMethodURL: 'https://acs.example/method',
}

const pres: Fields = {
  messageType: 'PRes',
  threeDSServerTransID: serverId,
  dsTransID: dsId,
  dsStartProtocolVersion: '2.1.0',
  dsEndProtocolVersion: '2.2.0',
  serialNum: '20240229-7',
  cardRangeData: [range],
  messageExtension: [noticed],
}

const common: Record<MessageType, Fields> = {
  AReq: areq,
  ARes: ares,
  CReq: { messageType: 'CReq', ...challenge, challengeWindowSize: '05' },
  CRes: { messageType: 'CRes', ...challenge, transStatus: 'Y' },
  RReq: rreq,
  RRes: {
    messageType: 'RRes',
    threeDSServerTransID: serverId,
    acsTransID: acsId,
    dsTransID: dsId,
    resultsStatus: '01',
    messageExtension: [noticed],
  },
  PReq: {
    messageType: 'PReq',
    threeDSServerTransID: serverId,
    threeDSServerRefNumber: 'SIM_3DSS_0001',
    threeDSServerOperatorID: 'OP-1',
    serialNum: '20240228-1',
    messageExtension: [noticed],
  },
  PRes: pres,
  Erro: {
    messageType: 'Erro',
    threeDSServerTransID: serverId,
    acsTransID: acsId,
    dsTransID: dsId,
    errorCode: '203',
    errorComponent: 'D',
    errorDescription: 'a format',
    errorDetail: 'acctNumber',
    errorMessageType: 'AReq',
  },
}

/** What 2.2.0 has and 2.1.0 has not. */
const newer: Partial<Record<MessageType, Fields>> = {
  AReq: { browserJavascriptEnabled: true, threeDSReqAuthMethodInd: '01', payTokenSource: '01', ...whiteList },
  ARes: { acsDecConInd: 'N', ...whiteList },
  RReq: whiteList,
  PRes: { cardRangeData: [{ ...range, acsInfoInd: ['01', '02', '80'] }] },
}

export const good = (type: MessageType, version: Version): Fields => ({
  ...common[type],
  messageVersion: version,
  ...(version === '2.2.0' ? newer[type] : undefined),
})

/**
 * A copy with the field at this path changed, or left out if the value is undefined. `a.b` is in an
 * object, `a.0.b` in a list.
 */
export function changed(fields: Fields, path: string, value: unknown): Fields {
  const copy = structuredClone(fields)
  const names = path.split('.')
  const last = names.pop()!
  let at: Fields = copy
  for (const name of names) at = at[name] as Fields
  if (value === undefined) delete at[last]
  else at[last] = value
  return copy
}

/** `ok`, or the code and the names of the fields, also of an entry of a list that was left out. */
export function verdictOf(read: MessageRead | Unusable): string {
  if (read.is === 'unusable') return `${read.errorCode} ${read.errorDetail}`
  const [first] = read.leftOut ?? []
  if (first === undefined) return 'ok'
  return first.missing.length > 0 ? `201 ${first.missing.join()}` : `203 ${first.unfit.join()}`
}
