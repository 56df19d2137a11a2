/**
 * How a request is signed wrongly: each known mistake is a row, which makes again what was made by
 * mistake. Keys are plain here, and nothing of a guess is shown or kept but the name of its row.
 */
import { createHmac, hash } from 'node:crypto'
import { decimalToMinor, minorToDecimal, type Currency } from '../../base/money.ts'
import { exampleKey } from '../../reference/example.ts'
import { writeForm } from '../../spec/form.ts'
import { amountInMinorUnits, controlKey, formulas, pathId } from '../../spec/gateway/control.ts'
import type { Amount } from '../../spec/kinds.ts'

export type SignedPart = readonly [name: string, value: string]
type Parts = readonly SignedPart[]
type Sum = Amount & { currency: Currency }
/** `says` what to do instead. */
export type Mistaken = Record<'name' | 'says', string>

/** One way to make a checksum; the key is one of the parts. */
interface Guess {
  parts: Parts
  /** In hexadecimal, which Node makes in half the time of a buffer. */
  digest: (parts: Parts) => string
}

/** The values to confuse. `take`: the value of any part, empty if this request has none. */
interface Confusable extends Record<'ids' | 'orderAmounts' | 'replacedKeys' | 'signingSecrets', readonly string[]> {
  amount: Sum | undefined
  take: (name: string) => string
}

type Guesses = (guess: Guess, about: Confusable) => Iterable<readonly [guess: Guess, what?: string | undefined]>
type Others<Of = string> = (of: Of, about: Confusable) => readonly string[]

const named = (name: string) => (part: SignedPart) => part[0] === name
const isKey = named(controlKey)
const notKey = (part: SignedPart) => !isKey(part)
const joined = (parts: Parts) => parts.reduce((before, [, value]) => before + value, '')
function sha(name: string, charset: BufferEncoding = 'utf8'): Guess['digest'] {
  return (parts) => hash(name, charset === 'utf8' ? joined(parts) : Buffer.from(joined(parts), charset))
}
function hmac(name: string): Guess['digest'] {
  return (parts) =>
    createHmac(name, joined(parts.filter(isKey)))
      .update(joined(parts.filter(notKey)))
      .digest('hex')
}

/** Each of these parts alone with each other value, then all of them together. */
function changing(fits: (part: SignedPart) => boolean, to: Others, called?: (part: SignedPart) => string): Guesses {
  return function* ({ parts, digest }, about) {
    const all = parts.map((part) => (fits(part) ? to(part[1], about) : []))
    for (const [at, [name, present]] of parts.entries())
      for (const value of all[at]!)
        if (value !== present) yield [{ digest, parts: parts.with(at, [name, value]) }, called?.([name, value])]
    const ways = parts.filter(fits).length > 1 ? Math.max(...all.map(({ length }) => length)) : 0
    for (let way = 0; way < ways; way++)
      yield [{ digest, parts: parts.map(([name, value], at) => [name, all[at]![way] ?? value]) }]
  }
}
const keys = (to: Others) => changing(isKey, to)
const values = (to: Others) => changing(notKey, to, ([name]) => name)
const amounts = (to: Others<Sum>) =>
  changing(named(amountInMinorUnits), (_, about) => (about.amount ? to(about.amount, about) : []))
/** Other parts or another digest, each with what it says of the mistake. */
function others(
  make: (parts: Parts, about: Confusable, guess: Guess) => Iterable<readonly [change: Partial<Guess>, what?: string]>,
): Guesses {
  return (guess, about) => Array.from(make(guess.parts, about, guess), ([change, what]) => [{ ...guess, ...change }, what])
}

const decoded = (value: string) => (/^(?:[^%]|%[0-7][0-9a-f])*$/i.test(value) ? decodeURIComponent(value) : value)
const signings = Object.values(formulas).flatMap((ways) => ways.map(({ parts }): readonly string[] => parts))
const digests = ['md5', 'sha224', 'sha256', 'sha384', 'sha512', 'sha3-256']
const separators = ['|', ':', ';', ',', '&', '+', '-', '_', '.', '/', ' ', '\n', '\r\n']
const behind = (parts: Parts, many: number, sign: string) =>
  parts.map(([name, value], at): SignedPart => [name, at < many ? value + sign : value])
const decimals: Others<Sum> = ({ minor, currency: { exponent } }) =>
  [0, 1, 2].flatMap((more) => {
    const all = minorToDecimal(minor * 10n ** BigInt(more), exponent + more)
    return [all, all.replace('.', ','), all.replace(/\.?0*$/, ''), all.replace(/0$/, ''), all.replace(/\..*/, '')]
  })
const ordersOf = (parts: Parts): SignedPart[][] =>
  parts.length === 0 ? [[]] : parts.flatMap((part, at) => ordersOf(parts.toSpliced(at, 1)).map((rest) => [part, ...rest]))
const order = 'the parts in another order'

// oxfmt-ignore
export const mistakes: Readonly<Record<string, readonly [says: string, guesses: Guesses]>> = {
  'a control key that was replaced': ['Sign with the control key that the merchant has now.', keys((_, { replacedKeys }) => replacedKeys)],
  'the signing secret as control key': ['It is for callbacks and requests that are signed as a whole. Sign control with the control key.', keys((_, { signingSecrets }) => signingSecrets)],
  'the key of the documents': ['An example was copied with its key. Sign with your own.', keys(() => [exampleKey, controlKey, 'MERCHANT_CONTROL', '<MERCHANT_CONTROL>', 'merchant_control', 'undefined', 'null'])],
  'the control key in another spelling': ['Sign with the key exactly as it was issued: its case and its dashes count.', keys((key) => [key.toLowerCase(), key.toUpperCase(), key.replaceAll('-', ''), key.replaceAll('-', '').toLowerCase(), `"${key}"`, `'${key}'`])],
  'a line end or blank around the control key': ['The key was read with characters around it, such as the line end of its file. Trim it.', keys((key) => [`${key}\n`, `${key}\r\n`, `${key} `, ` ${key}`, `\ufeff${key}`, `${key}\r`])],
  'no control key': ['It comes last in the signed string.', others((parts) => [[{ parts: parts.filter(notKey) }]])],
  'the id of another endpoint or group': ['Sign the id in the address of the request.', changing(named(pathId), (_, { ids }) => ids, ([, value]) => value)],
  'the amount as it was sent': ['It is signed in minor units: 10.42 is sent, and 1042 is signed.', amounts(({ text }) => [text])],
  'the amount in another spelling': ['It is signed in minor units: 1.0 and 1.00 are both signed as 100.', amounts(decimals)],
  'the amount in other minor units': ['Minor units are those of the currency: yen have none, dinars have thousandths. An endpoint may be set to hundredths for all.', amounts(({ text, minor }) => [0, 1, 2, 3, 4].flatMap((power) => [String(decimalToMinor(text, power)), String(minor * 10n ** BigInt(power))]))],
  'the amount cut by floating point': ['Shift the point in the text: as a floating-point number 1.15 times 100 is 114.99….', amounts(({ text, currency: { exponent } }) => [Number(text) * 10 ** exponent].flatMap((product) => [String(Math.floor(product)), String(product), product.toFixed(1), product.toFixed(2)]))],
  'the amount of the order': ['If the request has an amount, sign that amount.', changing(named(amountInMinorUnits), (_, { orderAmounts }) => orderAmounts)],
  'the currency by its number': ['It is signed by its three letters.', changing(named('currency'), (_, { amount }) => (amount ? [amount.currency.numeric] : []))],
  'a part is missing': ['Every part is signed.', others((parts) => parts.filter(notKey).map((part) => [{ parts: parts.filter((one) => one !== part) }, part[0]]))],
  'the parts of another operation': ['Each operation signs its own parts.', others((parts, { take }) => signings.map((its) => [{ parts: [...its.map((name) => [name, take(name)] as const), ...parts.filter(isKey)] }, its.join(' + ')]))],
  'a part too many': ['Only these parts are signed.', others((parts, { take }) => [...new Set(signings.flat())].flatMap((part) => (take(part) === '' || parts.some(named(part)) ? [] : parts.map((_, at) => [{ parts: parts.toSpliced(at, 0, [part, take(part)]) }, part] as const))))],
  [order]: ['Their order is fixed, and the control key comes last.', others((parts) => ordersOf(parts).map((its) => [{ parts: its }, its.map(([name]) => name).join(' + ')]))],
  'separators between the parts': ['They are joined without separators.', others((parts) => separators.flatMap((sign) => [1, 2].map((less) => [{ parts: behind(parts, parts.length - less, sign) }, JSON.stringify(sign)] as const)))],
  'names among the values': ['Values are signed without their names.', others((parts) => ['&', '', ';', '|'].flatMap((text) => ['=', ':'].flatMap((sign) => [1, 2].map((less) => [{ parts: behind(parts.map((part) => [part[0], isKey(part) ? part[1] : part.join(sign)]), parts.length - less, text) }] as const))))],
  'a plus taken for a blank': ['In a form + is a blank, and a plus sign is %2B: encode the values of the body.', values((value) => [value.replaceAll(' ', '+'), value.replaceAll('+', ' ')])],
  'values signed percent-encoded': ['Values are encoded only in the body, and signed without encoding.', values((value) => [encodeURIComponent(value), writeForm([['', value]]).slice(1), encodeURIComponent(value).replace(/%../g, (code) => code.toLowerCase())])],
  'a value encoded twice in the body': ['The body is decoded once, and the decoded values are signed. Encode in one place only.', values((value) => [decoded(value)])],
  'another character set': ['UTF-8 is signed, as it is in the body.', others(() => [[{ digest: sha('sha1', 'latin1') }, 'ISO 8859-1'], [{ digest: sha('sha1', 'utf16le') }, 'UTF-16'], [{ digest: (parts) => hash('sha1', Buffer.from(joined(parts)).toString('latin1')) }, 'UTF-8 twice']])],
  'blanks or line ends in a value': ['Sign exactly the value that is sent.', values((value) => [` ${value}`, `${value} `, `${value}\n`, `${value}\r\n`, value.replace(/\s+/g, ''), value.replace(/\s+/g, ' ')])],
  'letters in another case': ['Values are signed in the case in which they are sent.', values((value) => [value.toLowerCase(), value.toUpperCase()])],
  'letters written otherwise': ['Sign exactly the letters that are sent.', values((value) => [value.normalize('NFC'), value.normalize('NFD'), value.replace(/[^ -~]/g, '?'), value.replace(/[^ -~]/g, '')])],
  'a word for a part that is absent': ['A part without a value adds nothing.', changing(([, value]) => value === '', () => ['null', 'undefined', 'None', 'nil', '0'])],
  'another hash': ['control is the SHA-1 of the parts followed by the key, not an HMAC.', others(() => [...digests.map((name) => [{ digest: sha(name) }, name] as const), ...['sha1', ...digests].map((name) => [{ digest: hmac(name) }, `HMAC of ${name}`] as const)])],
  'hashed twice': ['Use SHA-1 once, on the parts and the plain key.', others((_, __, { digest }) => [[{ digest: (parts) => hash('sha1', digest(parts)) }], [{ digest: (parts) => hash('sha1', Buffer.from(digest(parts), 'hex')) }]])],
  'the key hashed first': ['Sign with the key as it was issued.', keys((key) => ['sha1', 'md5', 'sha256'].flatMap((name) => [hash(name, key), hash(name, key).toUpperCase()]))],
}

/**
 * The known mistake, or the two, that lead from one of the texts that should have been signed to
 * what was sent. Undefined if none do, which takes some 150 ms; empty if it was made rightly.
 */
export function mistakesIn(sent: Buffer, rights: readonly Parts[], about: Confusable): readonly Mistaken[] | undefined {
  const wanted = sent.toString('hex')
  const isSent = ({ parts, digest }: Guess) => digest(parts) === wanted
  const rows = Object.entries(mistakes)
  const begin = rights.map((parts) => ({ guess: { parts, digest: sha('sha1') }, made: [] as Mistaken[], from: 0 }))
  if (begin.some(({ guess }) => isSent(guess))) return []
  const next: typeof begin = []
  // The orders, and more ways to be right, are too many to be joined with another mistake.
  for (const level of [begin, next])
    for (const [i, { guess, made, from }] of level.entries())
      for (const [at, [name, [says, guesses]]] of rows.entries()) {
        if (at < from || (level === next && name === order)) continue
        for (const [one, what] of guesses(guess, about)) {
          const all = () => [...made, { name: what === undefined ? name : `${name}: ${what}`, says }]
          if (isSent(one)) return all()
          if (level === begin && i < 2 && name !== order) next.push({ guess: one, made: all(), from: at })
        }
      }
  return undefined
}
