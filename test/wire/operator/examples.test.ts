import assert from 'node:assert/strict'
import { generateKeyPairSync, randomBytes } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { after, test } from 'node:test'
import { systemRandom } from '../../../src/base/random.ts'
import { splitKek } from '../../../src/keys/shares.ts'
import { actionsOf, subjects } from '../../../src/operator/subjects.ts'
import { makeLineCertificates } from '../../harness/acquirer/line-certificates.ts'
import { image } from '../../harness/browser/images.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing } from '../../harness/world/opening.ts'
import { run } from './cli-run.ts'

/** The examples of all helps, typed one after the other at a new installation. */

const folder = mkdtempSync(join(tmpdir(), 'tollgate-examples-'))
after(() => rmSync(folder, { recursive: true }))
const { url } = closing(await migratedDatabase())
const kek = randomBytes(32).toString('base64')
const env = { DATABASE_URL: url, TOLLGATE_KEY: kek }

const { pem } = await makeLineCertificates()
const pair = (): string => generateKeyPairSync('ed25519').publicKey.export({ type: 'spki', format: 'pem' }).toString()

const shares = splitKek(kek, systemRandom)

/** What the examples name, and what an operator would have there. */
const files: Readonly<Record<string, string | Buffer>> = {
  'key.txt': '5F3C9A61-1B7E-4D08-A2C4-6E90B7D1F835',
  'logo.png': image('png', 16, 16),
  'public.pem': pair(),
  'acquirer-ca.pem': pem('ds-ca.pem'),
  'acme.pem': pem('gateway-line.pem'),
  'acme.key': pem('gateway-line.key'),
  'acme-mac.key': randomBytes(16).toString('hex'),
  'regulars.txt': 'regular@example.com\n',
  'freed.txt': 'eve@example.com\n',
  'number.txt': '4111111111111111',
  'request.txt': 'POST /gateway/api/v2/sale/101\n\nclient_orderid=o-1&amount=10.42&currency=USD&email=jane@example.com&control=0',
  'bins.csv': 'first,last,country,bank\n400000,400099,US,First Bank\n',
  'kek.txt': kek,
  'address.txt': 'eve@example.com\n',
  'card.txt': '4111111111111111\n',
  'acquirer.csv': 'terminal,stan,time,rrn,kind,outcome,amount_minor,currency\n',
  'share-1.txt': shares[0],
  'share-2.txt': shares[1],
}
for (const [name, content] of Object.entries(files)) writeFileSync(join(folder, name), content)

/** They would call a server, or a database, by its name. */
const elsewhere = /db2\.example|^merchant check/

/** What a new installation has not got, and what an earlier example has done already. */
// oxfmt-ignore
const refused: [example: RegExp, why: RegExp][] = [
  [/^merchant add .*key\.txt/,         /There is a merchant shop already/],
  [/^merchant key add .*second/,       /This key is already key 1 of shop/],
  [/^merchant move shop --to/,         /There is no cell 2/],
  [/^merchant move shop --give-up/,    /no move of it is under way/],
  [/^filter add .*--card-of/,          /There is no order 1000042/],
  // So it is not the third filter.
  [/^filter entries .*--card-of/,      /it applies to lists of cards only/],
  [/ undo /,                           /There is no change 1042/],
  [/^filter reset/,                    /counts no payment of this (email|card) now/],
  [/^order (show|resume|capture|return|void)/, /There is no order 1000001/],
  [/^proposal (show|confirm|reject)/,  /There is no proposal 17/],
  [/^delivery resend/,                 /No callback fits/],
  [/^delivery show/,                   /There is no order 1000001/],
  [/^invoice resume/,                  /No invoice .* is parked/],
  [/^merchant guide/,                  /There is no endpoint/],
  [/^signature explain/,               /no checksum/],
  [/^user reset-password/,             /User jane has no second factor/],
  [/^keys retire/,                     /its values may still be in use/],
  [/^reconcile/,                       /None of the 0 lines of the record is of terminal SHOP0001/],
  [/^doctor/,                          /no gateway is running/],
  [/^acquirer/,                        /Only a sandbox has a simulated acquirer/],
]

test('every example does what it says, or says what a new installation lacks', async () => {
  // An endpoint needs a gate.
  const order = ['gate', ...Object.keys(subjects).filter((subject) => subject !== 'gate')]
  for (const subject of order)
    for (const [, { examples }] of await actionsOf(subject))
      for (const example of examples) if (!elsewhere.test(example)) await tried(example)
  const unknown = refused.filter(([one]) => !met.has(one))
  assert.deepEqual(unknown, [], 'each is of an example')
})

const met = new Set<RegExp>()

async function tried(example: string): Promise<void> {
  const [line = '', into] = example.split(' > ')
  const [command = '', from] = line.split(' < ')
  const input = from === undefined ? '' : readFileSync(inFolder(from), 'utf8')
  const { code, out, err } = await run(env, wordsOf(command), input)
  const [pattern, why] = refused.find(([one]) => one.test(example)) ?? []
  if (pattern) met.add(pattern)
  if (why) assert.match(out + err, why, example)
  else assert.deepEqual([code, err], [0, ''], `${example}: ${out}`)
  if (into) writeFileSync(inFolder(into), out)
}

const inFolder = (path: string): string => join(folder, basename(path))

/** As a shell reads them; files are in the folder. */
const wordsOf = (command: string): string[] =>
  [...command.matchAll(/"([^"]*)"|(\S+)/g)].map(
    ([, quoted, bare = '']) => quoted ?? (/^\/var\/|\.(?:txt|png|pem|key|csv|json)$/.test(bare) ? inFolder(bare) : bare),
  )
