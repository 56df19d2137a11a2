import assert from 'node:assert/strict'
import { hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import { systemRandom } from '../../src/base/random.ts'
import { unseal } from '../../src/base/seal.ts'
import { secret } from '../../src/base/secret.ts'
import { openKeyExchange } from '../../src/base/x25519.ts'
import { openPeerSealing } from '../../src/gateway/peers/seal.ts'
import { openFixedKeys } from '../harness/fixed-keys.ts'

const hex = (text: string) => Buffer.from(text, 'hex')
/** The first 32 bytes are these; then it is random. */
const beginningWith = (bytes: Buffer) => {
  const first = [bytes]
  return { ...systemRandom, bytes: (length: number) => first.pop() ?? systemRandom.bytes(length) }
}

test('a key exchange is that of RFC 7748', () => {
  const bob = openKeyExchange(beginningWith(hex('5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb')))
  const alice = hex('8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a')
  assert.equal(bob.publicKey.toString('hex'), 'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f')
  assert.equal(bob.sharedWith(alice).reveal().toString('hex'), '4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742')
  assert.throws(() => bob.sharedWith(Buffer.alloc(32)))
})

test('a message opens with the secret of both processes and the key of the installation, and without either not', () => {
  const keys = openFixedKeys(systemRandom)
  const own = systemRandom.bytes(32)
  const sender = openPeerSealing(keys, beginningWith(own))
  const receiver = openPeerSealing(keys, systemRandom)
  const { bytes } = sender.request(receiver.publicKey, Buffer.from('text'))
  const shared = openKeyExchange(beginningWith(own)).sharedWith(receiver.publicKey).reveal()
  const digestKey = keys.current('digest').key.reveal()
  const use = 'tollgate peer request 1'
  const openedWith = (...material: Buffer[]) => {
    const info = Buffer.concat([Buffer.from(use), sender.publicKey, receiver.publicKey])
    const key = hkdfSync('sha256', Buffer.concat(material), bytes.subarray(40, 72), info, 32)
    return String(unseal(secret(Buffer.from(key)), bytes.subarray(72), use))
  }
  assert.equal(openedWith(shared, digestKey), 'text')
  for (const material of [[shared], [digestKey], [Buffer.alloc(32), digestKey]]) assert.throws(() => openedWith(...material))
  assert.equal(String(receiver.opened(bytes)?.plain), 'text')
})

test('equal messages and answers have nothing in common, and an answer opens for its own request alone', () => {
  const keys = openFixedKeys(systemRandom)
  const [sender, receiver] = [openPeerSealing(keys, systemRandom), openPeerSealing(keys, systemRandom)]
  const [one, other] = [1, 2].map(() => sender.request(receiver.publicKey, Buffer.from('text')))
  assert.notDeepEqual(one!.bytes.subarray(72), other!.bytes.subarray(72))
  const opened = receiver.opened(one!.bytes)!
  const [answer, again] = [opened.answer(Buffer.from('yes')), opened.answer(Buffer.from('yes'))]
  assert.notDeepEqual(answer, again)
  assert.equal(String(one!.answer(answer)), 'yes')
  assert.equal(other!.answer(answer), undefined)
  assert.equal(one!.answer(one!.bytes), undefined)
  assert.equal(one!.answer(Buffer.alloc(0)), undefined)
  assert.equal(sender.opened(one!.bytes), undefined)
})
