import { uuid } from '../../src/base/random.ts'
import { isRecord, readJson } from '../three-d-secure/json.ts'
import { eciOf } from '../three-d-secure/cards.ts'
import { cavvOf } from '../three-d-secure/cavv.ts'
import { readMessage, unusable, writeMessage, type Message, textOf } from '../three-d-secure/codec.ts'
import type { Answer } from '../three-d-secure/peers.ts'
import { dsReferenceNumber, refuse, answerWith, spoil, trouble, type Desk, type Passage } from './desk.ts'
import { judgeAReq } from './rules.ts'

/** AReq and ARes: checks, adds the directory server's fields, asks the ACS, returns its answer. */

const peer = '3ds-server'
/** Enough for later look-ups; the oldest are forgotten. */
const keptPassages = 10_000

export async function answerAReq(desk: Desk, text: string): Promise<Answer> {
  const { journal, passages, ranges, faults, day, allowedHosts } = desk
  journal.note('in', peer, text)
  const read = readMessage(text, ['AReq'])
  if (read.is === 'unusable') return refuse(desk, peer, read)
  const { message } = read
  const card = textOf(message, 'acctNumber')
  const troubled = await trouble(desk, peer, message, card)
  if (troubled !== undefined) return troubled
  const id = textOf(message, 'threeDSServerTransID')
  if (passages.has(id)) return refuse(desk, peer, unusable('301', 'threeDSServerTransID was used before', message))
  const wrong = judgeAReq(message, { range: ranges.find(card), now: day.now(), allowedHosts })
  if (wrong !== undefined) return refuse(desk, peer, wrong)
  const passage = begin(desk, message, id, card)
  if (faults.take('stand_in', { message: 'AReq', card })) return answerWith(desk, peer, standIn(desk, message, passage))
  return askAcs(desk, message, passage)
}

function begin(desk: Desk, message: Message, id: string, card: string): Passage {
  const passage: Passage = {
    threeDSServerTransID: id,
    dsTransID: uuid(desk.random),
    version: message.messageVersion,
    threeDSServerURL: textOf(message, 'threeDSServerURL'),
    card,
  }
  desk.passages.set(id, passage)
  const [oldest] = desk.passages.keys()
  if (desk.passages.size > keptPassages && oldest !== undefined) desk.passages.delete(oldest)
  return passage
}

/**
 * Asks the ACS. Stands in for it if it is off, which HTTP 503 of the ACS means, too late or out of
 * reach.
 */
async function askAcs(desk: Desk, message: Message, passage: Passage): Promise<Answer> {
  const { outgoing, credentials, acsUrl, acsTimeoutMs, journal, log } = desk
  const forwarded: Message = { ...message, dsReferenceNumber, dsTransID: passage.dsTransID, dsURL: desk.dsUrl() }
  const body = writeMessage(forwarded)
  journal.note('out', 'acs', body)
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  const reply = await outgoing.send({ method: 'POST', url: acsUrl, headers, body, timeoutMs: acsTimeoutMs, tls: credentials })
  if (reply.is === 'failed') {
    log.warn({ kind: reply.kind, why: reply.why }, 'the ACS cannot be reached')
    return refuse(desk, peer, unusable(reply.kind === 'timeout' ? '402' : '405', 'the ACS cannot be reached', forwarded))
  }
  const answer = reply.body.toString('utf8')
  journal.note('in', 'acs', answer)
  if (reply.status === 503) return answerWith(desk, peer, standIn(desk, message, passage))
  const fields = answerOf(reply.status, answer)
  if (fields === undefined) return refuse(desk, peer, unusable('404', 'the ACS answered what is no message', forwarded))
  if (typeof fields['acsTransID'] === 'string') passage.acsTransID = fields['acsTransID']
  return answerWith(desk, peer, spoil(desk, message, fields, passage.card))
}

/**
 * The answer goes on as it is, even where a field of it breaks a rule: a real directory server
 * would refuse it, but then a 3DS Server's answer to it could not be tried.
 */
function answerOf(status: number, text: string): Message | undefined {
  const json = readJson(text)
  if (status !== 200 || json.is !== 'read' || !isRecord(json.value)) return undefined
  const type = json.value['messageType']
  return type === 'ARes' || type === 'Erro' ? (json.value as unknown as Message) : undefined
}

/** Attempted: the network answers in place of the issuer, with its own proof. */
function standIn(desk: Desk, message: Message, passage: Passage): Message {
  passage.acsTransID = uuid(desk.random)
  const proven = {
    acctNumber: passage.card,
    dsTransID: passage.dsTransID,
    purchaseAmount: textOf(message, 'purchaseAmount'),
    purchaseCurrency: textOf(message, 'purchaseCurrency'),
  }
  const answer: Message = {
    messageType: 'ARes',
    messageVersion: message.messageVersion,
    threeDSServerTransID: passage.threeDSServerTransID,
    acsTransID: passage.acsTransID,
    dsTransID: passage.dsTransID,
    acsReferenceNumber: 'SIM_DS_ATTEMPTS_0001',
    dsReferenceNumber,
    transStatus: 'A',
    eci: eciOf(passage.card, 'A'),
    ...(message['messageCategory'] === '01'
      ? { authenticationValue: cavvOf(desk.cavvKey, proven, 'A', message.messageVersion) }
      : {}),
  }
  return spoil(desk, message, answer, passage.card)
}
