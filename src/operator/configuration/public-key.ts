import { createPublicKey, type KeyObject } from 'node:crypto'
import { publicKeyComplaint } from '../../merchant/oauth.ts'

const privateWarning =
  'This is a private key. Do not give it to anyone, not even to us: whoever has it can sign as the merchant. ' +
  'Nothing was stored.\nIf others could read it on its way here, make a new pair. ' +
  'Give the public half: openssl pkey -in private.pem -pubout -out public.pem'

const makers = 'BEGIN PUBLIC KEY, BEGIN RSA PUBLIC KEY or BEGIN CERTIFICATE'

/**
 * Reads a merchant's public key from PEM: SubjectPublicKeyInfo, PKCS#1, or a certificate, of which
 * only the key is used. A text is the error message.
 */
export function readPublicKey(text: string): KeyObject | string {
  if (/PRIVATE KEY/i.test(text)) return privateWarning
  const blocks = [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----/g)].map((match) => match[1]!)
  if (blocks.length !== 1)
    return `${blocks.length === 0 ? 'This is not PEM' : 'This is more than one key'}. Give one block: ${makers}.`
  if (!['PUBLIC KEY', 'RSA PUBLIC KEY', 'CERTIFICATE'].includes(blocks[0]!))
    return `This is a ${blocks[0]}. Give a public key: ${makers}.`
  let key: KeyObject
  try {
    key = createPublicKey(text)
  } catch {
    return 'The key is damaged: its PEM cannot be read.'
  }
  // A key for Ed25519 has one size and no choices.
  const complaint = key.asymmetricKeyType === 'ed25519' ? undefined : publicKeyComplaint(key)
  return complaint === undefined ? key : `The key cannot be used: ${complaint}.`
}
