import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PassThrough, Readable } from 'node:stream'
import { after, test } from 'node:test'
import { Command } from 'commander'
import { systemClock } from '../../../src/base/clock.ts'
import { systemRandom } from '../../../src/base/random.ts'
import type { performAt } from '../../../src/cli/desk.ts'
import { addSubject } from '../../../src/cli/rows.ts'
import { openTerminal } from '../../../src/cli/terminal.ts'
import { optionName } from '../../../src/entity/fields.ts'
import { jsonName } from '../../../src/entity/json.ts'
import { Unreadable, type ValueKind } from '../../../src/entity/kinds.ts'
import { image } from '../../harness/browser/images.ts'
import type { Finding } from '../../../src/entity/show.ts'
import { action as anAction, eachOf, type AnyAction } from '../../../src/operator/action.ts'
import { findingsShown, ok, problem } from '../../../src/operator/doctor/finding.ts'
import type { Office } from '../../../src/operator/office.ts'
import { permissions, roleMay, roles, type Permission } from '../../../src/operator/permissions.ts'
import { actionsOf, subjects } from '../../../src/operator/subjects.ts'

/** What an operator can do, row by row. */

const ground = { clock: systemClock, random: systemRandom }

const folder = mkdtempSync(join(tmpdir(), 'tollgate-actions-'))
after(() => rmSync(folder, { recursive: true }))
const [file, picture, head] = ['content', 'logo.png', 'head.json'].map((name) => join(folder, name)) as [string, string, string]
writeFileSync(file, '4111111111111111')
writeFileSync(picture, image('png', 16, 16))
const headJson = { no: '1', hash: 'a'.repeat(64), at: '', key: '1', public_key: '', signature: '' }
// It may also be the configuration of a merchant server.
writeFileSync(head, JSON.stringify({ ...headJson, control_key: 'b'.repeat(32) }))
const contents: Readonly<Record<string, string>> = { png: picture, json: head }

const rows: { subject: string; words: string; action: AnyAction }[] = []
for (const subject of Object.keys(subjects))
  for (const [words, action] of await actionsOf(subject)) rows.push({ subject, words, action })

/** The words of a line of a shell, without where it reads from and writes to. */
const wordsOf = (line: string): string[] =>
  [...line.replace(/ [<>] \S+/g, '').matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare!)

/** Files that an example names are none of this machine. */
function withFiles(words: string[], { takes }: AnyAction): string[] {
  const files = Object.entries<{ is: { fromBytes?: unknown }; argument?: true; option?: string }>(takes).filter(
    ([, { is }]) => is.fromBytes,
  )
  return words.map((word, at) =>
    files.some(([name, input]) => (input.argument ? word.includes('.') : words[at - 1] === `--${optionName(name, input)}`))
      ? (contents[word.split('.').at(-1)!] ?? file)
      : word,
  )
}

for (const { subject, words, action } of rows)
  test(`the examples of ${words} are read completely`, async () => {
    assert.ok(action.examples.length > 0)
    for (const example of action.examples as string[]) {
      const [stdout, stderr] = [new PassThrough(), new PassThrough()]
      const stdin = () => Readable.from([Buffer.from('4111111111111111')])
      const terminal = openTerminal({ env: {}, stdin, stdout, stderr, ...ground })
      const program = new Command('tollgate').exitOverride().configureOutput({ writeErr: (text) => void stderr.write(text) })
      let performed = ''
      const perform = async (_terminal: unknown, called: string): Promise<never> => {
        performed = called
        throw new Error('read')
      }
      const { does } = subjects[subject]!
      addSubject(program, terminal, subject, { does, actions: await actionsOf(subject) }, perform)
      const parsed = program.parseAsync(withFiles(wordsOf(example), action), { from: 'user' })
      await assert.rejects(parsed, /^Error: read$/, `${example}: ${String(stderr.read() ?? '')}`)
      assert.equal(performed, words)
    }
  })

test('the inputs of an action have distinct names, and valid default values', () => {
  for (const { words, action } of rows) {
    const takes = Object.entries<{ is: ValueKind<unknown>; option?: string; usual?: unknown; means: string }>(action.takes)
    const options = takes.map(([name, input]) => optionName(name, input))
    assert.deepEqual(options, [...new Set(options)], words)
    for (const [name, { is, usual, means }] of takes) {
      assert.ok(means !== '' && !means.endsWith('.'), `${words} ${name}`)
      if (usual === undefined || is.hint === '') continue
      const read: unknown = is.read(is.written(usual))
      assert.ok(!(read instanceof Unreadable), `${words} ${jsonName(name)}: ${is.written(usual)}`)
    }
  }
})

test('an owner may do everything, an auditor change nothing, and no role of one merchant act on all merchants', () => {
  for (const [one, { changes }] of Object.entries(permissions) as [Permission, { changes: boolean }][]) {
    assert.ok(roleMay('owner', one))
    if (changes) assert.ok(!roleMay('auditor', one) && !roleMay('auditor', one, 'merchant'), one)
  }
  for (const { words, action } of rows) {
    if (!/( (list|show|history|find|test|verify|guide|rules)|^access|^stats|^doctor)$/.test(words))
      assert.ok(action.needs !== 'read', words)
    if (/ (add|set|disable|enable|undo|remove|retire|resume|resend|erase|forget|move|drain|drop)$/.test(words))
      assert.ok(permissions[action.needs].changes, words)
    if (action.reads) assert.match(words, / (list|sessions)$/)
  }
  for (const role of roles) for (const one of ['system', 'audit'] as const) assert.equal(roleMay(role, one, 'merchant'), false)
})

test('a person sees each result as it comes and the sum at the end; a program gets everything together', async () => {
  const printed = new PassThrough({ encoding: 'utf8' })
  const terminal = openTerminal({ env: {}, stdin: () => Readable.from([]), stdout: printed, stderr: printed, ...ground })
  const seen: (string | null)[] = []
  async function* look(): AsyncGenerator<Finding> {
    yield ok('first', 'is well')
    seen.push(printed.read() as string | null)
    yield problem('second', 'is ill', 'see: {order list}')
    seen.push(printed.read() as string | null)
  }
  const sum = (problems: number) => ({ json: { problems }, text: `${problems} in all` })
  const row = { needs: 'read', does: '', takes: {}, gives: findingsShown(sum), examples: ['look'] } as const
  const actions = [['look', anAction({ ...row, perform: (office) => eachOf(office, look()) })]] as const
  const program = new Command('tollgate')
  const perform: typeof performAt = (_terminal, _words, task, asked, found) => task.perform({ found } as Office, asked)
  addSubject(program, terminal, 'look', { does: '', actions }, perform)
  await program.parseAsync(['look'], { from: 'user' })
  assert.deepEqual(seen, [
    'ok       first         is well\n',
    'problem  second        is ill\n                       → see: npx tollgate order list\n',
  ])
  assert.equal(printed.read(), '\n1 in all\n')
  assert.equal(terminal.exitCode, 1)
  await program.parseAsync(['look', '--json'], { from: 'user' })
  assert.deepEqual(seen.slice(2), [null, null])
  assert.deepEqual(JSON.parse(printed.read() as string), {
    problems: 1,
    checks: [
      { is: 'ok', what: 'first', says: 'is well', advice: null },
      { is: 'problem', what: 'second', says: 'is ill', advice: 'see: npx tollgate order list' },
    ],
  })
})
