import { uuid, type Random } from '../../base/random.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { exampleKey } from '../../reference/example.ts'

/** Control keys are issued as upper-case UUIDs, which serve the gateway API and the mobile API. */
export const newControlKey = (random: Random): Secret<string> => secret(uuid(random).toUpperCase())

/** Whether the mobile API can use the key, which it reads as 16 bytes in hexadecimal. */
export const servesMobile = (key: Secret<string>): boolean => /^[0-9a-f]{32}$/i.test(bare(key.reveal()))

const bare = (key: string): string => key.replaceAll('-', '').toUpperCase()

/** Random base64 of the least length has 128 bits. */
export const keyLength = { least: 22, most: 128 } as const
/**
 * A key drawn at random has at least this many different characters; 32 random hex digits have
 * fewer once in four billion times.
 */
const leastDifferent = 7
/**
 * So many of 32 hex digits may follow from those before them, as in 1234 or in a group that is
 * repeated: the rest has 80 bits. A random key exceeds it less than once in a billion times.
 */
const mostForeseen = 11
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
export type ControlKeyUse = 'sandbox' | 'production'

/**
 * Checks a manually chosen key; undefined if it is good. Anybody who receives a callback or a
 * returning cardholder can try millions of guesses a second, so the key must be random: a UUID or
 * 32 hex digits, neither of which are runs, sequences or repeats, or a longer text that the
 * estimate rates as random.
 */
export async function keyComplaint(key: Secret<string>, use: ControlKeyUse): Promise<string | undefined> {
  const text = key.reveal()
  if (!/^[\x21-\x7e]*$/.test(text)) return 'a control key has no spaces and only printable ASCII characters'
  if (text.length > keyLength.most) return `a control key has at most ${keyLength.most} characters`
  if (published.has(bare(text))) return use === 'production' ? 'this control key appears in public documents' : undefined
  if (text.length < keyLength.least)
    return (
      `a control key is a UUID, 32 hexadecimal digits, or at least ${keyLength.least} random characters; ` +
      `this one has ${text.length}`
    )
  if (new Set(bare(text)).size < leastDifferent) return 'this control key is weak: it has too few different characters'
  if (isUuidOrHex(text))
    return foreseen(bare(text)) > mostForeseen
      ? 'this control key is weak: most of its digits are runs, sequences or repeats'
      : undefined
  return (await looksRandom(text))
    ? undefined
    : 'this control key is weak: it is made of words, dates or patterns that can be guessed'
}

const isUuidOrHex = (text: string): boolean => /^([0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32})$/i.test(text)

/** A digit follows from the one `lag` places before it when it is that digit, moved by `step`. */
const waysToFollow = Array.from({ length: 16 }, (_, i) => i + 1).flatMap((lag) =>
  (lag <= 4 ? [0, 1, -1] : [0]).map((step) => ({ lag, step })),
)
const leastStretch = 4

/** How many hex digits say nothing new; each stretch of them costs one. */
function foreseen(hex: string): number {
  const digits = Array.from(hex, (digit) => parseInt(digit, 16))
  const follows = (at: number, lag: number, step: number) => {
    const [from, to] = [digits[at - lag], digits[at]]
    if (from === undefined || to === undefined) return false
    // After 9 comes 0 in a decimal sequence.
    return to === (from + step + 16) % 16 || (step !== 0 && from === (step === 1 ? 9 : 0) && to === 9 - from)
  }
  let count = 0
  for (let at = 0; at < digits.length; at++) {
    const stretches = waysToFollow.map(({ lag, step }) => {
      let length = 0
      while (follows(at + length, lag, step)) length++
      return length
    })
    const longest = Math.max(...stretches)
    if (longest < leastStretch) continue
    count += longest - 1
    at += longest - 1
  }
  return count
}

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
