import { sleep } from '../../src/base/clock.ts'
import { eciOf } from '../three-d-secure/cards.ts'
import { readMessage, writeMessage, type Message, textOf } from '../three-d-secure/codec.ts'
import type { Result } from './challenge.ts'
import type { Case, Desk } from './desk.ts'

/** RReq and RRes: reports the end of a challenge to the directory server. */

const peer = 'directory-server'
const timeoutMs = 10_000
/** Waits before the second and the third try; there is no fourth. */
const pausesMs = [2_000, 4_000]
/** Codes of an Erro after which the same message may succeed. */
const passing = new Set(['402', '403', '405'])

/**
 * Resolves when the receipt (RRes) is there, or immediately if a script or the card wants the
 * result late or not at all. Never rejects.
 */
export async function tellResult(desk: Desk, one: Case, result: Result): Promise<'delivered' | 'undelivered'> {
  const { faults, realClock } = desk
  const met = { card: one.card.reveal() }
  if (one.ending === 'no result' || faults.take('rreq_missing', met)) return 'delivered'
  const text = writeMessage(rreqOf(one, faults.take('rreq_contradicts', met) ? opposite(result) : result))
  const lateMs = faults.takeMs('rreq_late_ms', met)
  if (lateMs !== undefined) {
    realClock.after(lateMs, () => void deliver(desk, one, text))
    return 'delivered'
  }
  const delivery = await deliver(desk, one, text)
  if (faults.take('rreq_twice', met)) await post(desk, one.dsUrl, text)
  return delivery
}

const opposite = ({ passed, interactions }: Result): Result =>
  passed ? { passed: false, reason: '01', interactions } : { passed: true, interactions }

function rreqOf(one: Case, { passed, reason, cancel, interactions }: Result): Message {
  const status = passed ? 'Y' : 'N'
  return {
    messageType: 'RReq',
    messageVersion: one.version,
    threeDSServerTransID: one.threeDSServerTransID,
    acsTransID: one.acsTransID,
    dsTransID: one.dsTransID,
    messageCategory: one.messageCategory,
    transStatus: status,
    ...(reason === undefined ? {} : { transStatusReason: reason }),
    ...(passed && one.cavv !== undefined ? { authenticationValue: one.cavv } : {}),
    eci: eciOf(one.card.reveal(), status),
    // 02: a one-time password.
    authenticationType: '02',
    interactionCounter: String(interactions).padStart(2, '0'),
    ...(cancel === undefined ? {} : { challengeCancel: cancel }),
  }
}

async function deliver(desk: Desk, one: Case, text: string): Promise<'delivered' | 'undelivered'> {
  for (const pauseMs of [...pausesMs, undefined]) {
    const answer = await post(desk, one.dsUrl, text)
    if (answer !== 'try again') return answer
    if (pauseMs !== undefined) await sleep(desk.clock, pauseMs)
  }
  desk.log.warn({ acsTransID: one.acsTransID }, 'the result could not be delivered')
  return 'undelivered'
}

async function post(desk: Desk, url: string, body: string): Promise<'delivered' | 'undelivered' | 'try again'> {
  const { journal, outgoing, credentials, log } = desk
  journal.note('out', peer, body)
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  const reply = await outgoing.send({ method: 'POST', url, headers, body, timeoutMs, tls: credentials })
  if (reply.is === 'failed') {
    log.warn({ kind: reply.kind, why: reply.why }, 'the directory server cannot be reached')
    return 'try again'
  }
  const answer = reply.body.toString('utf8')
  journal.note('in', peer, answer)
  const read = readMessage(answer, ['RRes', 'Erro'])
  if (read.is === 'unusable') return reply.status >= 500 ? 'try again' : 'undelivered'
  if (read.message.messageType === 'RRes') return 'delivered'
  return passing.has(textOf(read.message, 'errorCode')) ? 'try again' : 'undelivered'
}
