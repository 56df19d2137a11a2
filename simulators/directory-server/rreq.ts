import { idsOf, readMessage, unusable, textOf } from '../three-d-secure/codec.ts'
import { mayCall, type Answer } from '../three-d-secure/peers.ts'
import { refuse, trouble, type Desk } from './desk.ts'

/**
 * RReq and RRes: the result of a challenge, from the ACS to the 3DS Server that sent the AReq, and
 * its receipt back.
 */

const peer = 'acs'
const timeoutMs = 5_000

/**
 * A repeated result goes on like the first: refusing it is the 3DS Server's duty, and tests of that
 * need to reach it.
 */
export async function relayRReq(desk: Desk, text: string): Promise<Answer> {
  const { journal, passages, outgoing, credentials, allowedHosts, log } = desk
  journal.note('in', peer, text)
  const read = readMessage(text, ['RReq'])
  if (read.is === 'unusable') return refuse(desk, peer, read)
  const { message } = read
  const passage = passages.get(textOf(message, 'threeDSServerTransID'))
  const ids = idsOf(message)
  if (passage === undefined || ids['dsTransID'] !== passage.dsTransID || ids['acsTransID'] !== passage.acsTransID)
    return refuse(desk, peer, unusable('301', 'no such transaction', message))
  if (message.messageVersion !== passage.version) return refuse(desk, peer, unusable('203', 'messageVersion', message))
  const troubled = await trouble(desk, peer, message, passage.card)
  if (troubled !== undefined) return troubled
  if (!mayCall(passage.threeDSServerURL, allowedHosts)) return refuse(desk, peer, unusable('303', 'threeDSServerURL', message))
  journal.note('out', '3ds-server', text)
  const headers = { 'content-type': 'application/json; charset=utf-8' }
  const url = passage.threeDSServerURL
  const reply = await outgoing.send({ method: 'POST', url, headers, body: text, timeoutMs, tls: credentials })
  if (reply.is === 'failed') {
    log.warn({ kind: reply.kind, why: reply.why }, 'the 3DS Server cannot be reached')
    return refuse(desk, peer, unusable(reply.kind === 'timeout' ? '402' : '405', 'the 3DS Server cannot be reached', message))
  }
  const body = reply.body.toString('utf8')
  journal.note('in', '3ds-server', body)
  if (reply.status >= 500) return refuse(desk, peer, unusable('403', `the 3DS Server answered HTTP ${reply.status}`, message))
  const answer = readMessage(body, ['RRes', 'Erro'])
  if (answer.is === 'unusable') return refuse(desk, peer, unusable('404', 'the 3DS Server answered what is no message', message))
  journal.note('out', peer, body)
  return { body }
}
