import { uuid, type Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'
import { exampleKey } from '../reference/example.ts'

/** Control keys are issued as upper-case UUIDs, which serve the gateway API and the mobile API. */
export const newControlKey = (random: Random): Secret<string> => secret(uuid(random).toUpperCase())

/** Whether the mobile API can use the key, which it reads as 16 bytes in hexadecimal. */
export const servesMobile = (key: Secret<string>): boolean => /^[0-9a-f]{32}$/i.test(bare(key.reveal()))

const bare = (key: string): string => key.replaceAll('-', '').toUpperCase()

/** Random base64 of this length has 128 bits. */
const leastLength = 22
/**
 * A key drawn at random has at least this many different characters; 32 random hex digits have
 * fewer once in 200,000 times.
 */
const leastDifferent = 8
/**
 * The estimate counts guesses in powers of ten, at most one per character. Random keys reach 0.89
 * or more per character; keys made of words, names, dates and keyboard rows reach 0.82 or less.
 */
const randomFromGuesses = 0.85

/** Keys published in the documents of gateways with this protocol, including this one's. */
const published: ReadonlySet<string> = new Set(
  [
    exampleKey,
    'A60112DA-E32A-4747-932A-FFE978067A65',
    'E31B5975-7362-4C0E-8853-A2007BC90BE3',
    'B17F59B4-A7DC-41B4-8FF9-37D986B43D20',
    'D5F82EC1-8575-4482-AD89-97X6X0X20X22',
    'AF4B5DE6-3468-424C-A922-C1DAD7CB4509',
  ].map(bare),
)

/** In the sandbox, the keys of the documents may be used. */
export type KeyUse = 'sandbox' | 'production'

/**
 * Checks a manually chosen key; undefined if it is good. Anybody who receives a callback or a
 * returning cardholder can try millions of guesses a second, so the key must be random: a UUID or
 * 32 hex digits, or a longer text that the estimate rates as random.
 */
export async function keyComplaint(key: Secret<string>, use: KeyUse): Promise<string | undefined> {
  const text = key.reveal()
  if (!/^[\x21-\x7e]*$/.test(text)) return 'a control key has no spaces and only printable ASCII characters'
  if (text.length > 128) return 'a control key has at most 128 characters'
  if (use === 'production' && published.has(bare(text))) return 'this control key stands in public documents'
  if (new Set(bare(text)).size < leastDifferent) return 'this control key is weak: its characters hardly differ'
  if (isUuidOrHex(text)) return undefined
  if (text.length < leastLength)
    return (
      `a control key is a UUID, 32 hexadecimal digits, or at least ${leastLength} random characters; ` +
      `this one has ${text.length}`
    )
  return (await looksRandom(text))
    ? undefined
    : 'this control key is weak: it is made of words, dates or patterns that can be guessed'
}

const isUuidOrHex = (text: string): boolean => /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})$/i.test(text)

let estimator: ReturnType<typeof openEstimator> | undefined

/** The word lists are loaded here, once, because few commands need them. */
async function openEstimator() {
  const [{ ZxcvbnFactory }, common, english] = await Promise.all([
    import('@zxcvbn-ts/core'),
    import('@zxcvbn-ts/language-common'),
    import('@zxcvbn-ts/language-en'),
  ])
  const dictionary = { ...common.dictionary, ...english.dictionary }
  return new ZxcvbnFactory({ dictionary, graphs: common.adjacencyGraphs })
}

async function looksRandom(text: string): Promise<boolean> {
  const estimate = await (estimator ??= openEstimator())
  // Dashes and dots between words make each word look like a few random characters.
  return [text, text.replaceAll(/[^A-Za-z0-9]/g, '')].every(
    (part) => estimate.check(part).guessesLog10 >= randomFromGuesses * part.length,
  )
}
