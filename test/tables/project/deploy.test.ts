/** The files of deploy/, as far as their text shows that they work: what they name is there. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { test } from 'node:test'
import { migrateVariables } from '../../../src/cli/programs/migrate.ts'
import { databaseUsers } from '../../../src/settings/database.ts'
import { consoleVariables } from '../../../src/settings/operators.ts'
import { serveVariables } from '../../../src/settings/serve.ts'

const known = new Set([serveVariables, consoleVariables, migrateVariables].flatMap((table) => Object.keys(table)))
const textOf = (name: string) => readFileSync(`deploy/${name}`, 'utf8')

/** The directives of a section, each with its values in order. */
function sectionOf(text: string, name: string): Map<string, string[]> {
  const [, body = ''] = new RegExp(`^\\[${name}\\]\\n([^[]*)`, 'm').exec(text.replaceAll(/^#.*\n/gm, '')) ?? []
  const directives = new Map<string, string[]>()
  for (const line of body.split('\n').filter(Boolean)) {
    const [, key, value] = /^([A-Za-z]+)=(.*)$/.exec(line) ?? assert.fail(`not a directive: ${line}`)
    directives.set(key!, [...(directives.get(key!) ?? []), value!])
  }
  return directives
}

for (const [unit, program, user] of [
  ['tollgate', 'serve', databaseUsers.serve],
  ['tollgate-console', 'console', databaseUsers.operator],
] as const)
  test(`${unit}.service confines ${program}, and gives it the secrets that init writes`, () => {
    const service = sectionOf(textOf(`${unit}.service`), 'Service')
    for (const [name, value] of [
      ['Type', 'notify'],
      ['NotifyAccess', 'all'],
      ['DynamicUser', 'yes'],
      ['ProtectSystem', 'strict'],
      ['NoNewPrivileges', 'yes'],
      ['Restart', 'on-failure'],
      ['RestartPreventExitStatus', '2'],
      ['CapabilityBoundingSet', ''],
      ['LimitCORE', '0'],
    ] as const)
      assert.deepEqual(service.get(name), [value], name)
    const credentials = ['key', user].map((name) => `${name}:/etc/tollgate/secrets/${name}`)
    assert.deepEqual(service.get('LoadCredential'), credentials)
    const [, ...words] = service.get('ExecStart')![0]!.split(' ')
    assert.deepEqual(words.slice(-2), ['tollgate', program])
    for (const word of words.slice(0, -2)) assert.ok(known.has(word.split('=')[0]!), word)
  })

test('every setting in the files that init copies is one that a program reads', () => {
  for (const name of ['tollgate.env', 'containers.env']) {
    const names = [...textOf(`init/${name}`).matchAll(/^#?([A-Z][A-Z0-9_]+)=/gm)].map(([, one]) => one!)
    assert.ok(names.length >= 4, name)
    for (const one of names) assert.ok(known.has(one), `${name}: ${one}`)
  }
  assert.deepEqual(readdirSync('deploy/init').sort(), [
    'compose.env',
    'containers.env',
    'containers.txt',
    'database.sql',
    'machine.txt',
    'tollgate.env',
  ])
})
