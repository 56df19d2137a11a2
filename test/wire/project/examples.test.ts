import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { commandsIn, tutorials, typeCommands } from '../../harness/documents/commands.ts'
import { openWorld } from '../../harness/world/opening.ts'

/** Each example and each tutorial, run as its reader runs it, and what it prints. */

const folder = join(import.meta.dirname, '../../../../examples')
const compiled = join(import.meta.dirname, '../../../examples')

const world = await openWorld()

async function run(name: string, directory = world.directory, ends = 0): Promise<string> {
  const env = { ...process.env, TOLLGATE_DIR: directory }
  const child = spawn(process.execPath, [join(compiled, `${name}.js`)], { env, timeout: 120_000 })
  let out = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text: string) => (out += text))
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
  assert.equal(code, ends, out)
  assert.ok(!out.includes(world.merchant.controlKey))
  return out.trimEnd()
}

const authenticated = 'verified-3d-status AUTHENTICATED, eci 05'

// oxfmt-ignore
const prints: Readonly<Record<string, readonly string[]>> = {
  sale:                     ['approved: order …'],
  status:                   ['approved: sale_approved'],
  answers:                  ['ship the shoes', 'tell the customer: Not sufficient funds', 'mend the request: 3 Parameter email is invalid: it is not an e-mail address', 'mend the request: 8 Currency is not supported'],
  'sale-frictionless':      ['method frame, at sale_3d_validating', 'approved', authenticated],
  'sale-challenge':         ['method frame, at sale_3d_validating', 'challenge, at sale_3d_validating', 'approved', authenticated],
  'sale-1-0-2':             ['payer authentication, at sale_3d_validating', 'approved', authenticated],
  'sale-hosted':            ['approved', 'Thank you. Order example-… is approved.'],
  'preauth-capture-return': ['preauth 10.42: approved', 'capture 8.00: approved', 'return 3.00: approved', 'the same again: approved', 'return 5.01: refused: 10 Amount exceeds 5.00'],
  return:                   ['sale 10.42: approved', 'return 4.00: approved', 'return 7.00: refused: 10 Amount exceeds 6.42', 'the rest: approved'],
  void:                     ['sale: approved', 'void: approved', 'reversal, void_approved'],
  'account-verification':   ['approved', 'declined: 119 Not permitted to the cardholder'],
  'card-registration':      ['approved', 'registered, with a unique reference: true', 'JANE DOE, 411111…1111, until 12/….', 'paid again: approved', 'not registered: declined, 9'],
  'card-registration-v4':   ['approved', 'registered, also as a recurring payment: true', 'status: approved', 'with another key: denied'],
  recurrent:                ['first payment: approved', 'by the merchant: approved', 'by a list of amounts: approved, 900.00', 'held: approved', 'method frame, at sale_3d_validating', 'challenge, at sale_3d_validating', 'by the cardholder: approved'],
  callback:                 ['sale approved 10.42', 'it has no signature'],
  'mobile-sale':            ['the consumer is taken to a web view', 'paid', 'APPROVED: 1042 centis, AUTHENTICATED'],
  'status-by-request':      ['approved', 'approved', 'sale: approved, sale_approved', 'reversal: approved, reversal_approved', 'newest: reversal'],
}

/** What differs with each run. */
const masked = (text: string): string => text.replace(/order [0-9]+$/m, 'order …').replace(/12\/20[0-9]{2}/, '12/….')

describe('the examples', () => {
  for (const [name, lines] of Object.entries(prints))
    test(`${name} prints what became of it`, async () => assert.deepEqual(masked(await run(name)).split('\n'), lines))

  for (const [name, outcome] of Object.entries(tutorials))
    test(`the commands of the tutorial ${name} work, in their order`, async () => {
      const commands = commandsIn(join(folder, '../docs/tutorials', `${name}.md`))
      assert.doesNotMatch(commands, /expire_year\D{1,5}20\d\d/, 'the year is computed')
      const at = mkdtempSync(join(tmpdir(), 'tollgate-tutorial-'))
      try {
        symlinkSync(world.directory, join(at, '.tollgate'))
        // The real npx takes a second of processor time for each call.
        const program = join(folder, '../bin/tollgate.mjs')
        writeFileSync(join(at, 'npx'), `#!/bin/sh\nshift\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 })
        const { code, out, errors } = await typeCommands(commands, at, { ...process.env, PATH: `${at}:${process.env.PATH}` })
        assert.equal(code, 0, `${out}\n${errors}`)
        assert.match(out, outcome)
      } finally {
        rmSync(at, { recursive: true })
      }
    })

  test('without a sandbox it says how to start one, and ends with 2', async () => {
    assert.match(await run('sale', join(world.directory, 'log'), 2), /^No sandbox runs here: .*npm start/)
  })

  test('every example is here; the rest is what they share, and what other tests run', () => {
    const shared = ['authenticate', 'customers-browser', 'mobile-app', 'mobile-server', 'mobile-signature', 'sandbox']
    const files = readdirSync(folder).filter((name) => name.endsWith('.ts'))
    assert.deepEqual(files.map((name) => name.slice(0, -'.ts'.length)).toSorted(), [...Object.keys(prints), ...shared].toSorted())
  })
})
