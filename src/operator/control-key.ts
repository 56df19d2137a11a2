import { uuid, type Random } from '../base/random.ts'
import { secret, type Secret } from '../base/secret.ts'

/** The form in which control keys are issued: an upper-case UUID. It serves the gateway API and the mobile API. */
export const newControlKey = (random: Random): Secret<string> => secret(uuid(random).toUpperCase())

/** Whether the mobile API can use it, which takes a control key for 16 bytes in hexadecimal. */
export const servesMobile = (key: Secret<string>): boolean => /^[0-9a-f]{32}$/i.test(key.reveal().replaceAll('-', ''))

const leastLength = 16
/** A key drawn at random has at least this many different characters; 32 random hex digits have fewer once in 200,000 times. */
const leastDifferent = 8

/**
 * Judges a key given by hand; undefined when it is good. Merchants bring keys of their own, so any 16 printable characters will do for the gateway API;
 * for the mobile API it has to be 32 hexadecimal digits (dashes do not count), which is asked where an endpoint is given a merchant server.
 */
export function keyComplaint(key: Secret<string>): string | undefined {
  const text = key.reveal()
  if (!/^[\x21-\x7e]*$/.test(text)) return 'a control key has no spaces and only printable ASCII characters'
  if (text.length < leastLength) return `a control key has at least ${leastLength} characters, this one has ${text.length}`
  if (text.length > 128) return 'a control key has at most 128 characters'
  if (new Set(text.toLowerCase().replaceAll('-', '')).size < leastDifferent)
    return 'this control key is weak: its characters hardly differ'
  return undefined
}
