import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { minorUnits } from '../../../client/amount.ts'
import { readCallback, readReturn } from '../../../client/callback.ts'
import { readPairs } from '../../../client/form.ts'
import { signatureHeaders } from '../../../client/message-signature.ts'
import { baseString } from '../../../client/oauth.ts'
import { controlOf, operations, signedParts } from '../../../client/operations.ts'
import { vectorsFile, type Vectors } from '../../../tools/php-vectors.ts'
import { findPhp, playScene, runPhp } from '../../harness/php/php.ts'

/** client/php by its vectors, and by what PHP computes of them where it is installed. */

const root = join(import.meta.dirname, '../../../..')
const file = readFileSync(join(root, 'client/php/vectors.json'), 'utf8')
const vectors: Vectors = JSON.parse(file)
const { login, id, control_key: key } = vectors

test("client/php/vectors.json is what the gateway's rows make", () => {
  assert.ok(file === vectorsFile(), 'client/php/vectors.json is stale; `npm run generate` writes it')
})

describe('the client in TypeScript agrees with the vectors', () => {
  test('on amounts and checksums', () => {
    for (const { amount, currency, units, signed } of vectors.minor_units)
      if (signed === null) assert.throws(() => minorUnits(amount, currency, units), RangeError)
      else assert.equal(minorUnits(amount, currency, units), signed)
    for (const { operation, units, fields, text, control } of vectors.controls) {
      const parts = signedParts(operation, new Map(Object.entries(fields)), { id, login, minorUnits: units })
      assert.deepEqual([parts.join(''), controlOf(parts, key)], [text, control], operation)
    }
  })
  test('on forms and signed requests', () => {
    for (const { text, fields } of vectors.forms) assert.deepEqual(readPairs(text) ?? null, fields, text)
    for (const { url, nonce, seconds, body, text } of vectors.oauth) {
      const params = { oauth_consumer_key: login, oauth_nonce: nonce, oauth_signature_method: 'RSA-SHA256' }
      const all = { ...params, oauth_timestamp: String(seconds), oauth_version: '1.0', ...body }
      assert.equal(baseString(url, Object.entries(all)), text)
    }
    for (const { created, signed, ...message } of vectors.messages) {
      const by = { login, key: vectors.signing_secret, timestampSeconds: created }
      assert.deepEqual(signatureHeaders({ method: 'POST', ...message, ...by }), signed)
    }
  })
  test('on callbacks and returns', () => {
    for (const { what, text, expected, headers, key: by, seconds, genuine } of vectors.callbacks) {
      const signed = by === null ? undefined : { headers, verifyWith: by, now: seconds * 1000 }
      assert.equal(readCallback(text, key, expected, signed).is === 'callback', genuine, what)
    }
    for (const { what, text, expected, key: by, seconds, genuine } of vectors.returns) {
      const token = by === null ? undefined : { login, signingSecret: by, now: seconds * 1000 }
      assert.equal(readReturn(text, key, expected, token).is === 'return', genuine, what)
    }
  })
  test('on every operation that has a checksum', () => {
    const signed = Object.entries(operations).flatMap(([name, row]) => ('signs' in row ? [name] : []))
    assert.deepEqual([...new Set(vectors.controls.map(({ operation }) => operation))].toSorted(), signed.toSorted())
  })
})

/** Paths and types of replies are in the PHP file too; without PHP they are compared as text. */
test('the client in PHP has a row for each operation of the client in TypeScript, with its path', () => {
  const page = readFileSync(join(root, 'client/php/Tollgate.php'), 'utf8')
  const rows = [...page.matchAll(/^ {8}'([a-z0-9-]+)' => \['(api\/[^']+)',/gm)].map(([, name, path]) => [name, path])
  assert.deepEqual(
    rows,
    Object.entries(operations).map(([name, { path }]) => [name, path]),
  )
})

if (findPhp())
  describe('the client in PHP', () => {
    test('every file of PHP is one that PHP can read', async () => {
      for (const folder of ['client/php', 'examples/php', 'test/harness/php'])
        for (const name of readdirSync(join(root, folder)).filter((one) => one.endsWith('.php'))) {
          const { code, out, err } = await runPhp(['-l', join(folder, name)])
          assert.equal(code, 0, out + err)
        }
    })
    test('every vector comes out as it should', async () => {
      const { code, out, err } = await runPhp(['test/harness/php/vectors.php', root])
      assert.deepEqual([code, err], [0, ''], out)
      const made = JSON.parse(out)
      assert.deepEqual(
        made.minor_units,
        vectors.minor_units.map(({ signed }) => signed),
      )
      assert.deepEqual(
        made.controls,
        vectors.controls.map(({ text, control }) => [text, control]),
      )
      assert.deepEqual(
        made.forms,
        vectors.forms.map(({ fields }) => fields),
      )
      assert.deepEqual(
        made.oauth,
        vectors.oauth.map(({ text }) => text),
      )
      assert.deepEqual(
        made.messages,
        vectors.messages.map(({ signed }) => signed),
      )
      for (const name of ['callbacks', 'returns'] as const)
        vectors[name].forEach(({ what, genuine }, at) => assert.equal(made[name][at], genuine, `${name}: ${what}`))
      assert.deepEqual(made.written, { 'a b': 'ü+%&=\n~*', 'c.d[]': '1' })
    })

    const settings = {
      base_url: 'http://127.0.0.1:2/gateway',
      login,
      control_key: key,
      signing_secret: vectors.signing_secret,
      oauth_key: '-----BEGIN NONE----- deadbeef',
      endpoint: Number(id),
    }
    const card = { credit_card_number: '4111111111111111', card_printed_name: 'JANE DOE', cvv2: '9876' }
    const sale = { client_orderid: 'a', amount: '10.42', currency: 'USD', email: 'jane@example.com', ...card }

    test('no exception and no dump of a client shows a card or a key', async () => {
      const printed = await playScene('traces', { settings, sale })
      assert.match(printed, /^Tollgate\\InDoubt\n.*sale has no answer: /)
      for (const kind of ['InvalidArgumentException', 'LogicException']) assert.ok(printed.includes(kind), kind)
      assert.ok(!printed.includes('nothing is thrown'))
      const secrets = [key, vectors.signing_secret, vectors.signing_secret.slice(6), 'deadbeef', ...Object.values(card)]
      for (const one of secrets) assert.ok(!printed.includes(one), `${one} in:\n${printed}`)
    })
    test('what cannot be signed or meant throws before anything is sent', async () => {
      const invalid = (message: string) => ['InvalidArgumentException', message]
      const floats = (type: string) => invalid(`amount has the type ${type}: write it as a string, such as '10.50'`)
      const amount = (text: string) => invalid(`"${text}" is not an amount of USD, which has 2 decimals`)
      const name = invalid('an idempotency key has 1 to 128 visible ASCII characters')
      assert.deepEqual(JSON.parse(await playScene('misuse', { settings, sale })), [
        floats('double'),
        floats('integer'),
        amount('10.505'),
        amount('-1'),
        invalid("email has the type array: write it as a string, such as '10.50'"),
        name,
        name,
        invalid('there is no setting signing_secert'),
        invalid('the settings need an endpoint or a group, and not both'),
        invalid('the setting control_key is missing, or no string'),
        invalid('signing_secret is not whsec_ and base64'),
        invalid('callback_public_key is not whpk_ and base64 of 32 bytes'),
      ])
    })
  })
