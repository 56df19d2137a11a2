/**
 * Seals what processes of an installation send each other, in both directions. A key serves for one
 * message. It is derived from two secrets: the current key for digests, which only processes of the
 * installation have, and a key exchange between the two processes, whose keys are in their memory
 * alone. So nobody else can write a message, only one process can open it, and whoever recorded it
 * cannot, once both have ended, not even with the database and the key-encryption key.
 *
 * *Rejected:* TLS with certificates of each process, which an operator would have to issue and
 * renew. A signature beside a text in clear: card numbers and CVV2 would pass in clear, and the
 * answer would need another one.
 */
import { hkdfSync } from 'node:crypto'
import type { Random } from '../../base/random.ts'
import { seal, unseal } from '../../base/seal.ts'
import { secret, type Secret } from '../../base/secret.ts'
import { openKeyExchange, rawBytes } from '../../base/x25519.ts'
import type { KeyRing } from '../../storage/store-keys.ts'

export interface PeerSealing {
  /** What others seal for this process. */
  publicKey: Buffer
  /** `answer` opens the answer; undefined if it is not authentic. */
  request(to: Buffer, plain: Buffer): { bytes: Buffer; answer: (bytes: Buffer) => Buffer | undefined }
  /** Undefined if it was not sealed for this process by another one of the installation. */
  opened(bytes: Buffer): OpenedRequest | undefined
}

export interface OpenedRequest {
  plain: Buffer
  /** Of this message alone. */
  name: string
  answer(plain: Buffer): Buffer
}

const saltBytes = 32
const versionBytes = 8
const headBytes = versionBytes + rawBytes + saltBytes
/** How many processes' shared secrets are kept; beyond that all are computed again. */
const secretsKept = 1_000

export function openPeerSealing(keys: Pick<KeyRing, 'current' | 'version'>, random: Random): PeerSealing {
  const own = openKeyExchange(random)
  const { publicKey } = own
  const secrets = new Map<string, Secret<Buffer>>()

  function sharedWith(other: Buffer): Secret<Buffer> {
    const name = other.toString('hex')
    return secrets.get(name) ?? own.sharedWith(other)
  }
  /** Only for keys that proved to be a peer's: a stranger may send as many as it likes. */
  function keep(other: Buffer, shared: Secret<Buffer>): void {
    if (secrets.size >= secretsKept) secrets.clear()
    secrets.set(other.toString('hex'), shared)
  }
  const keyOf = (shared: Secret<Buffer>, digestKey: Secret<Buffer>, salt: Buffer, ...info: (string | Buffer)[]) => {
    const material = Buffer.concat([shared.reveal(), digestKey.reveal()])
    const named = Buffer.concat(info.map((part) => (typeof part === 'string' ? Buffer.from(part, 'utf8') : part)))
    return secret(Buffer.from(hkdfSync('sha256', material, salt, named, 32)))
  }

  return {
    publicKey,
    request(to, plain) {
      const shared = sharedWith(to)
      keep(to, shared)
      const { version, key } = keys.current('digest')
      const salt = random.bytes(saltBytes)
      const number = Buffer.alloc(versionBytes)
      number.writeBigUInt64BE(version)
      const forRequest = keyOf(shared, key, salt, requestUse, publicKey, to)
      return {
        bytes: Buffer.concat([number, publicKey, salt, seal(forRequest, plain, requestUse, random)]),
        answer(bytes) {
          const both = Buffer.concat([salt, bytes.subarray(0, saltBytes)])
          return tried(() => unseal(keyOf(shared, key, both, answerUse, to, publicKey), bytes.subarray(saltBytes), answerUse))
        },
      }
    },
    opened(bytes) {
      if (bytes.length < headBytes) return undefined
      const key = keys.version('digest', bytes.readBigUInt64BE())
      const from = bytes.subarray(versionBytes, versionBytes + rawBytes)
      const salt = bytes.subarray(versionBytes + rawBytes, headBytes)
      const shared = key && tried(() => sharedWith(from))
      if (!key || !shared) return undefined
      const forRequest = keyOf(shared, key, salt, requestUse, from, publicKey)
      const plain = tried(() => unseal(forRequest, bytes.subarray(headBytes), requestUse))
      if (!plain) return undefined
      keep(from, shared)
      return {
        plain,
        name: salt.toString('base64'),
        answer(answered) {
          const ofAnswer = random.bytes(saltBytes)
          const forAnswer = keyOf(shared, key, Buffer.concat([salt, ofAnswer]), answerUse, publicKey, from)
          return Buffer.concat([ofAnswer, seal(forAnswer, answered, answerUse, random)])
        },
      }
    },
  }
}

const requestUse = 'tollgate peer request 1'
const answerUse = 'tollgate peer answer 1'

/** Undefined for bytes that are no key, or that were not sealed with this one. */
function tried<T>(open: () => T): T | undefined {
  try {
    return open()
  } catch {
    return undefined
  }
}
