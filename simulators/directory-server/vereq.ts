import { checkDigitHolds } from '../../src/base/luhn.ts'
import { acctIdOf } from '../three-d-secure/account.ts'
import { legacyOutcomeOf } from '../three-d-secure/cards.ts'
import { readVereq, writeLegacyError, writeVeres, type Vereq, type Veres } from '../three-d-secure/legacy.ts'
import type { Answer } from '../three-d-secure/peers.ts'
import { breakOff, hold, type Desk } from './desk.ts'

/** VEReq and VERes of 1.0.2: whether a card's issuer takes part, and where the browser finds it. */

const peer = '3ds-server'

export async function answerVereq(desk: Desk, text: string): Promise<Answer> {
  const { faults, journal } = desk
  const vereq = readVereq(text)
  if (vereq === undefined) {
    journal.note('in', peer, text)
    return refuse(desk, messageIdIn(text), unreadable(text))
  }
  const { messageId, pan } = vereq
  journal.noteXml('in', peer, text)
  const met = { message: 'VEReq', card: pan }
  const held = await hold(desk, met)
  if (held !== undefined) return held
  const code = faults.takeText('legacy_error', met) ?? (legacyOutcomeOf(pan) === 'error' ? '98' : undefined)
  if (code !== undefined) return refuse(desk, messageId, [code, 'scripted'])
  const broken = breakOff(desk, peer, met)
  if (broken !== undefined) return broken
  const unfit = unfitOf(vereq)
  if (unfit !== undefined) return refuse(desk, messageId, ['5', unfit])
  const body = writeVeres(veresOf(desk, vereq, met))
  journal.noteXml('out', peer, body)
  return { body }
}

function veresOf({ faults, cavvKey, pareqUrl }: Desk, { messageId, pan }: Vereq, met: { message: string; card: string }): Veres {
  const outcome = legacyOutcomeOf(pan)
  const byCard = outcome === undefined ? 'N' : outcome === 'not known' ? 'U' : 'Y'
  const enrolled = (faults.takeText('enrolled', met) as Veres['enrolled'] | undefined) ?? byCard
  return {
    messageId: faults.take('wrong_ids', met) ? `${messageId.slice(0, -1)}-` : messageId,
    enrolled,
    ...(enrolled === 'Y' ? { acctID: acctIdOf(cavvKey, pan), url: faults.takeText('veres_url', met) ?? pareqUrl } : {}),
  }
}

type Trouble = [code: string, detail: string]

/** The error in a text that is not a VEReq, from the outside in. */
function unreadable(text: string): Trouble {
  if (!/<ThreeDSecure[\s>]/.test(text) || text.includes('<!')) return ['1', 'ThreeDSecure']
  return /<VEReq[\s>]/.test(text) ? ['3', 'VEReq'] : ['2', 'Message']
}

function unfitOf({ pan, acqBIN, merID }: Vereq): string | undefined {
  if (!/^[0-9]{13,19}$/.test(pan) || !checkDigitHolds(pan)) return 'pan'
  if (!/^[0-9]{1,11}$/.test(acqBIN)) return 'Merchant.acqBIN'
  return /^[\x20-\x7e]{1,24}$/.test(merID) ? undefined : 'Merchant.merID'
}

const messageIdIn = (text: string): string => /<Message id="([A-Za-z0-9_.:-]{1,128})">/.exec(text)?.[1] ?? 'unknown'

const words: Record<string, string> = {
  '1': 'Root element invalid.',
  '2': 'Message element not a defined message.',
  '3': 'Required element missing.',
  '5': 'Format of one or more elements is invalid according to the specification.',
  '98': 'Transient system failure.',
  '99': 'Permanent system failure.',
}

function refuse({ journal }: Desk, messageId: string, [errorCode, errorDetail]: Trouble): Answer {
  const body = writeLegacyError(messageId, errorCode, words[errorCode] ?? 'Scripted error.', errorDetail)
  journal.noteXml('out', peer, body)
  return { body }
}
