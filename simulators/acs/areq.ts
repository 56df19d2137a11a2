import { sleep } from '../../src/base/clock.ts'
import { currencyOfNumeric, minorToDecimal } from '../../src/base/money.ts'
import { uuid } from '../../src/base/random.ts'
import { secret } from '../../src/base/secret.ts'
import { eciOf, networkOf, outcomeOf } from '../three-d-secure/cards.ts'
import { cavvOf } from '../three-d-secure/cavv.ts'
import { erroAbout, readMessage, unusable, writeMessage, type Message, type Unusable, textOf } from '../three-d-secure/codec.ts'
import { isRecord } from '../three-d-secure/json.ts'
import { mayCall, type Answer } from '../three-d-secure/peers.ts'
import { Challenge } from './challenge.ts'
import { keep, type Case, type Desk, type Shown } from './desk.ts'
import { tellResult } from './results.ts'
import { decide, type Ending, type Verdict } from './risk.ts'

/** AReq and ARes, from and to the directory server. */

const peer = 'directory-server'
const acsReferenceNumber = 'SIM_ACS_TOLLGATE_0001'
const rejection = 'Your bank did not allow this payment. Please call the number on the back of your card.'

export async function answerAReq(desk: Desk, text: string): Promise<Answer> {
  const { faults, journal, realClock } = desk
  journal.note('in', peer, text)
  const read = readMessage(text, ['AReq'])
  if (read.is === 'unusable') return refuse(desk, read)
  const { message } = read
  const lacking = ['dsReferenceNumber', 'dsTransID', 'dsURL'].filter((name) => message[name] === undefined)
  if (lacking.length > 0) return refuse(desk, unusable('201', lacking.join(','), message))
  const card = textOf(message, 'acctNumber')
  const met = { card }
  const delayMs = faults.takeMs('delay_ms', met)
  if (delayMs !== undefined) await sleep(realClock, delayMs)
  if (faults.take('silent', met)) return 'nothing'
  if (faults.take('off', met)) return { status: 503, body: '' }
  const errorCode = faults.takeText('areq_erro', met)
  if (errorCode !== undefined) return refuse(desk, unusable(errorCode, 'scripted', message))
  const dsUrl = desk.dsUrl ?? textOf(message, 'dsURL')
  // If the ACS has no configured address it uses the one in the message, but only on this machine.
  if (desk.dsUrl === undefined && !mayCall(dsUrl, new Set())) return refuse(desk, unusable('303', 'dsURL', message))
  const verdict = verdictOn(desk, message, card)
  const acsTransID = uuid(desk.random)
  if (verdict.status === 'Erro') return refuse(desk, unusable('404', 'the issuer cannot answer', { ...message, acsTransID }))
  if (verdict.status === 'C') openCase(desk, message, acsTransID, dsUrl, verdict.ending)
  const answer = scripted(desk, card, aresOf(desk, message, acsTransID, verdict.status))
  const body = writeMessage(answer)
  journal.note('out', peer, body)
  return { body }
}

function refuse({ journal }: Desk, why: Unusable): Answer {
  const body = writeMessage(erroAbout(why, 'A'))
  journal.note('out', peer, body)
  return { body }
}

function verdictOn({ faults }: Desk, message: Message, card: string): Verdict {
  const status = faults.takeText('trans_status', { card })
  if (status === 'C') return { status, ending: 'password' }
  if (status !== undefined) return { status: status as Exclude<Verdict['status'], 'C' | 'Erro'> }
  const indicator = message['threeDSRequestorChallengeInd']
  return decide(outcomeOf(card), typeof indicator === 'string' ? indicator : undefined)
}

/**
 * The reasons: 01 authentication failed, 11 suspected fraud, 22 technical problem at the ACS, 14
 * timed out at the ACS (in 2.1.0, which has no 22).
 */
function aresOf(desk: Desk, message: Message, acsTransID: string, status: Exclude<Verdict['status'], 'Erro'>): Message {
  const card = textOf(message, 'acctNumber')
  const unavailable = message.messageVersion === '2.1.0' ? '14' : '22'
  const reason = { N: '01', R: '11', U: unavailable, Y: undefined, A: undefined, I: undefined, D: undefined, C: undefined }[
    status
  ]
  const proof = status === 'Y' || status === 'A' ? proofFor(desk, message, status) : undefined
  const challenged = status === 'C' || status === 'D'
  return {
    messageType: 'ARes',
    messageVersion: message.messageVersion,
    threeDSServerTransID: message['threeDSServerTransID'],
    acsTransID,
    dsTransID: message['dsTransID'],
    acsReferenceNumber,
    acsOperatorID: 'SIM_ACS_OPERATOR',
    dsReferenceNumber: message['dsReferenceNumber'],
    transStatus: status,
    ...(reason === undefined ? {} : { transStatusReason: reason }),
    ...(proof === undefined ? {} : { authenticationValue: proof }),
    // Not known before the challenge is over.
    ...(challenged ? {} : { eci: eciOf(card, status) }),
    ...(challenged ? { acsChallengeMandated: message['threeDSRequestorChallengeInd'] === '04' ? 'Y' : 'N' } : {}),
    ...(challenged ? { authenticationType: status === 'C' ? '02' : '04' } : {}),
    ...(status === 'C' ? { acsURL: `${desk.browserUrl()}/challenge` } : {}),
    ...(status === 'D' ? { acsDecConInd: 'Y', cardholderInfo: 'Please confirm the payment in your banking app.' } : {}),
    ...(status === 'R' ? { cardholderInfo: rejection } : {}),
  }
}

/** Only for a payment; a check of the card has no amount to prove. */
function proofFor({ cavvKey }: Desk, message: Message, status: 'Y' | 'A'): string | undefined {
  if (message['messageCategory'] !== '01') return undefined
  const proven = {
    acctNumber: textOf(message, 'acctNumber'),
    dsTransID: textOf(message, 'dsTransID'),
    purchaseAmount: textOf(message, 'purchaseAmount'),
    purchaseCurrency: textOf(message, 'purchaseCurrency'),
  }
  return cavvOf(cavvKey, proven, status, message.messageVersion)
}

function scripted({ faults }: Desk, card: string, answer: Message): Message {
  const acsURL = faults.takeText('acs_url', { card })
  const cardholderInfo = faults.takeText('cardholder_info', { card })
  const without = faults.takeText('without', { card })
  const changed = {
    ...answer,
    ...(acsURL === undefined ? {} : { acsURL }),
    ...(cardholderInfo === undefined ? {} : { cardholderInfo }),
  }
  return without === undefined ? changed : { ...changed, [without]: undefined }
}

function openCase(desk: Desk, message: Message, acsTransID: string, dsUrl: string, ending: Ending): void {
  const cavv = proofFor(desk, message, 'Y')
  const notificationURL = textOf(message, 'notificationURL')
  const origins = [notificationURL, textOf(message, 'threeDSRequestorURL')].map((url) => new URL(url).origin)
  const opened: Case = {
    threeDSServerTransID: textOf(message, 'threeDSServerTransID'),
    acsTransID,
    dsTransID: textOf(message, 'dsTransID'),
    version: message.messageVersion,
    messageCategory: textOf(message, 'messageCategory'),
    dsUrl,
    card: secret(textOf(message, 'acctNumber')),
    ...(cavv === undefined ? {} : { cavv }),
    ending,
    notificationURL,
    framedBy: [...new Set(origins)],
    shown: shownOf(message),
    challenge: new Challenge(desk.clock, ending, (result) => tellResult(desk, opened, result)),
  }
  keep(desk.cases, acsTransID, opened, ({ challenge }) => challenge.drop())
}

function shownOf(message: Message): Shown {
  const card = textOf(message, 'acctNumber')
  const { merchantName, purchaseAmount, purchaseCurrency, purchaseExponent } = message
  const currency = typeof purchaseCurrency === 'string' ? currencyOfNumeric(purchaseCurrency)?.code : undefined
  const phone = ['mobilePhone', 'homePhone', 'workPhone'].map((name) => message[name]).find(isRecord)
  return {
    ...(typeof merchantName === 'string' ? { merchantName } : {}),
    ...(typeof purchaseAmount === 'string'
      ? { amount: `${minorToDecimal(BigInt(purchaseAmount), Number(purchaseExponent))} ${currency ?? ''}` }
      : {}),
    lastFour: card.slice(-4),
    network: networkOf(card),
    phone: phone ? `+${String(phone['cc'])} •••• ${String(phone['subscriber']).slice(-2)}` : '•••• 42',
  }
}
