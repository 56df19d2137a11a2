import { Chance } from '../world/chance.ts'

type Json = Readonly<Record<string, unknown>>

/**
 * What issuers and directory servers do where nothing is decided. It follows from the ids of the
 * message alone, so that it moves nothing else in a world.
 */
const chanceOf = ({ acsTransID, messageType }: Json, salt: number): Chance =>
  new Chance(Number.parseInt(String(acsTransID).slice(0, 8), 16) + salt + (messageType === 'RReq' ? 7 : 0))

/** A message, and what its issuer means by it. */
interface Sent<Result extends { eci?: string } = { eci?: string }> {
  message: Json
  result: Result
}
type Oddity = (sent: Sent) => Json

const odds = 0.3

const withoutEci = ({ result }: Sent, eci: unknown): Json => {
  delete result.eci
  return { eci }
}

const ofEach: readonly Oddity[] = [
  ({ message }) => ('transStatusReason' in message ? { transStatusReason: undefined } : {}),
  ({ message }) => ('transStatusReason' in message ? { transStatusReason: '27' } : {}),
  ({ message }) => (String(message['eci']).length === 2 ? { eci: String(message['eci']).slice(1) } : {}),
  (sent) => withoutEci(sent, ''),
  (sent) => withoutEci(sent, null),
  ({ message }) => ('authenticationValue' in message ? {} : { authenticationValue: '' }),
  () => ({ messageExtension: [{ name: 'x' }], whiteListStatus: '?' }),
]
const ofAres: readonly Oddity[] = [
  () => ({ cardholderInfo: 'Call your bank. '.repeat(20) }),
  ({ message }) => (message['transStatus'] === 'C' ? { acsChallengeMandated: null } : { acsURL: 'http://issuer.test/challenge' }),
  () => ({ acsReferenceNumber: undefined }),
]
const ofRreq: readonly Oddity[] = [
  () => ({ authenticationType: undefined }),
  () => ({ interactionCounter: '1' }),
  ({ message }) => ('challengeCancel' in message ? {} : { challengeCancel: '' }),
]

/** Three of ten messages are odd, some twice. */
export function withOddities<Result extends { eci?: string }>(sent: Sent<Result>): Sent<Result> {
  const chance = chanceOf(sent.message, 0)
  const all = [...ofEach, ...(sent.message['messageType'] === 'ARes' ? ofAres : ofRreq)]
  if (!chance.happens(odds)) return sent
  const odd = { ...sent, message: { ...sent.message, ...chance.pick(all)(sent) } }
  return chance.happens(odds) ? { ...odd, message: { ...odd.message, ...chance.pick(all)(odd) } } : odd
}

/** The text of a message, perhaps with ids in capitals, a byte order mark or line ends. */
export function textOf(message: Json): string {
  const chance = chanceOf(message, 1)
  const capitals = message['messageType'] === 'RReq' ? ['acsTransID', 'dsTransID'] : []
  const shown = chance.happens(odds) ? ['threeDSServerTransID', ...capitals] : []
  const text = JSON.stringify({
    ...message,
    ...Object.fromEntries(shown.map((name) => [name, String(message[name]).toUpperCase()])),
  })
  return `${chance.happens(odds) ? '\ufeff' : ''}${text}${chance.happens(odds) ? '\r\n' : ''}`
}

/** The message of a text that `textOf` made, for whoever wants to look into it. */
export const messageIn = (text: string): Json => JSON.parse(text.replace(/^\ufeff/, '')) as Json
