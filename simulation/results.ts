import { openCard, type Card, type SealedCard } from '../src/card/vault.ts'
import { placeKey, type Place } from '../src/order/change.ts'
import type { OrderStore } from '../src/order/store.ts'
import type { KeyRing } from '../src/storage/store-keys.ts'
import { erroAbout, readMessage, writeMessage, type Unusable } from '../src/three-d-secure/codec.ts'
import type { InboundParts } from '../src/three-d-secure/inbound.ts'
import { unusableFor } from '../src/three-d-secure/unusable.ts'

/** What a gateway does with the result of a challenge. */
export type ResultParts = Pick<InboundParts, 'wanted' | 'result'>

/** As src/three-d-secure/inbound.ts answers what came by its port: the text, or undefined when the result could not be stored. */
export async function answerResult(
  body: string,
  parts: ResultParts & Pick<InboundParts, 'peers'>,
  peer: string,
): Promise<string | undefined> {
  const read = readMessage(body, { types: ['RReq'] })
  if (read.is === 'unusable') return erro(read)
  const { message } = read
  const known = await parts.wanted(String(message['threeDSServerTransID']))
  if (!known || known.directory !== parts.peers.get(peer)) return erro(unusableFor(message, 301, ['threeDSServerTransID']))
  const wrong = [
    ...(message['acsTransID'] === known.acsTransId ? [] : ['acsTransID']),
    ...(message['dsTransID'] === known.dsTransId ? [] : ['dsTransID']),
    ...(message.messageVersion === known.version ? [] : ['messageVersion']),
    ...(message['messageCategory'] === known.messageCategory ? [] : ['messageCategory']),
  ]
  if (wrong.length > 0) return erro(unusableFor(message, 301, wrong))
  const verdict = await parts.result(message)
  if (verdict.is === 'failed') return undefined
  if (verdict.is === 'unknown') return erro(unusableFor(message, 301, ['threeDSServerTransID']))
  const { messageVersion, threeDSServerTransID, acsTransID, dsTransID } = message
  return writeMessage({ messageType: 'RRes', messageVersion, threeDSServerTransID, acsTransID, dsTransID, resultsStatus: '01' })
}

const erro = (unusable: Unusable): string => writeMessage(erroAbout(unusable, '2.1.0'))

/** The card of an order, opened. */
export async function cardOf(orders: OrderStore, keys: KeyRing, place: Place): Promise<Card> {
  return openCard(await sealedCardOf(orders, place), place, keys)
}

export async function sealedCardOf(orders: OrderStore, place: Place): Promise<SealedCard> {
  const sealed = (await orders.sealedCards([place])).get(placeKey(place))
  if (!sealed) throw new Error(`the card of order ${place.orderId} is gone`)
  return sealed
}
