/** Passwords of users: which are strong enough, and how they are kept (scrypt, RFC 7914). */
import { scrypt, timingSafeEqual } from 'node:crypto'
import type { Random } from '../base/random.ts'
import type { Secret } from '../base/secret.ts'

/** The stored form of a password, to compare with; texts are base64. */
export interface HashedPassword {
  n: number
  r: number
  p: number
  salt: string
  hash: string
}

/** 32 MiB for each, three times: of the settings that OWASP names, one that spares memory. */
const usual = { n: 2 ** 15, r: 8, p: 3 }
const hashBytes = 32
export const leastCharacters = 12
const mostCharacters = 256

/** Why a password is too weak, if it is; continues "it must". */
export function weakness(password: Secret<string>, user: string): string | undefined {
  const characters = Array.from(password.reveal().normalize('NFC'))
  const plain = characters.join('').toLowerCase()
  if (characters.length < leastCharacters) return `have at least ${leastCharacters} characters`
  if (characters.length > mostCharacters) return `have at most ${mostCharacters} characters`
  if (new Set(characters).size < 6) return 'have at least six different characters'
  const words = [user.toLowerCase(), 'tollgate', 'password', 'qwerty', '123456', 'letmein', 'welcome', 'admin']
  const rest = words.reduce((text, word) => text.replaceAll(word, ''), plain)
  return rest.length < leastCharacters / 2 ? 'not be a well-known word or your name' : undefined
}

export async function hashPassword(password: Secret<string>, random: Random): Promise<HashedPassword> {
  const salt = random.bytes(16)
  return { ...usual, salt: salt.toString('base64'), hash: (await derive(password, salt, usual)).toString('base64') }
}

/** Takes as long for a user without a password, so that nothing is learned of who has one. */
export async function isPassword(password: Secret<string>, kept: HashedPassword | undefined): Promise<boolean> {
  const { salt, hash, ...cost } = kept ?? { ...usual, salt: '', hash: '' }
  const derived = await inTurn(() => derive(password, Buffer.from(salt, 'base64'), cost))
  const expected = Buffer.from(hash, 'base64')
  return expected.length === derived.length && timingSafeEqual(derived, expected)
}

const derive = (password: Secret<string>, salt: Buffer, { n: N, r, p }: Pick<HashedPassword, 'n' | 'r' | 'p'>): Promise<Buffer> =>
  new Promise((resolve, reject) => {
    const text = password.reveal().normalize('NFC')
    scrypt(text, salt, hashBytes, { N, r, p, maxmem: 2 * 128 * N * r }, (error, key) => (error ? reject(error) : resolve(key)))
  })

let last: Promise<unknown> = Promise.resolve()

/** One after the other: many at the same time would take all memory, and all threads. */
function inTurn<T>(work: () => Promise<T>): Promise<T> {
  const mine = last.then(work)
  last = mine.catch(() => undefined)
  return mine
}
