import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { after, before, test } from 'node:test'
import { findViolations } from '../../../tools/tidy.ts'

const program = join(import.meta.dirname, '../../../tools/tidy.js')

let folder: string
before(() => {
  folder = mkdtempSync(join(tmpdir(), 'tollgate-tidy-'))
})
after(() => rmSync(folder, { recursive: true, force: true }))

type Files = Record<string, string>
const lines = (...all: string[]): string => `${all.join('\n')}\n`

/** A small project in which everything is in its place. */
const tidyProject: Files = {
  'src/cli/main.ts': lines(
    `import { clock } from '../base/clock.ts'`,
    `import { bytes } from '../base/random.ts'`,
    `import { open } from '../three-d-secure/inbound.ts'`,
    `open(clock.now(), bytes(8))`,
    `process.exitCode = 1`,
  ),
  'src/base/clock.ts': `export const clock = { now: () => Date.now() }\n`,
  'src/base/random.ts': lines(`import { randomBytes } from 'node:crypto'`, `export const bytes = (n: number) => randomBytes(n)`),
  'src/three-d-secure/inbound.ts': lines(
    `import { connect } from 'node:net'`,
    `export interface Opened { port: number }`,
    `export const open = (at: number, key: unknown): Opened => (connect(at, String(key)), { port: at })`,
  ),
  'src/storage/pool.ts': `import 'pg'; export const pool = 1\n`,
  'simulators/acquirer/program.ts': lines(
    `import { clock } from '../../src/base/clock.ts'`,
    `import { pool } from '../../src/storage/pool.ts'`,
    `const timer = setInterval(() => clock.now() + pool + Math.random(), 5)`,
  ),
  'bench/sale.ts': `console.log(new URL('./load.js', import.meta.url))\n`,
  'bench/load.ts': `console.log('load')\n`,
  'tools/bench.mjs': `await import('../dist/bench/sale.js')\n`,
  'test/harness/victim.ts': `process.stdin.resume()\n`,
  'test/wire/sale.test.ts': lines(
    `import { test } from 'node:test'`,
    `test('a sale is taken', () => fork('victim.js', '../harness/victim.js'))`,
  ),
  'README.md': lines('See [the clock](src/base/clock.ts#L1), [the site](https://example.com/none.md), `[code](none.md)`.'),
}

let planted = 0
function violationsOf(files: Files): string[] {
  const root = join(folder, String(planted++))
  for (const [path, text] of Object.entries({ ...tidyProject, ...files })) {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text)
  }
  return findViolations(root).violations.map(({ file, line, says }) => `${file}:${line}  ${says}`)
}

/** Puts lines after those of a file of the tidy project. */
const more = (path: string, ...added: string[]): Files => ({ [path]: tidyProject[path] + lines(...added) })

test('a project in which everything is in its place has nothing to answer for', () => {
  assert.deepEqual(violationsOf({}), [])
})

// Marks and paths are put together here, so that this file does not carry them itself.
const doc = (name: string) => `docs/${name}.md`
const shared = ['..', 'shared'].join('/')
const marks = [
  ['TO', 'DO'],
  ['@ts-', 'ignore'],
  ['oxlint-', 'disable'],
].map((halves) => halves.join(''))
const mostLines = 330
const [nobody, told, of] = [
  ['no', 'body'],
  ['to', 'ld'],
  ['O', 'f'],
].map((halves) => halves.join(''))
const ignore = '// oxfmt-ignore'
const blank = (count: number): string[] => Array.from({ length: count }, () => '')

// oxfmt-ignore
const cases: [what: string, files: Files, found: string[]][] = [
  ['a room that imports a later room', more('src/base/clock.ts', `import type { Opened } from '../three-d-secure/inbound.ts'`),
    ['src/base/clock.ts:2  base may not import three-d-secure: rooms import upwards only']],
  ['a room that re-exports a later room', more('src/base/clock.ts', `export { pool } from '../storage/pool.ts'`, ``),
    ['src/base/clock.ts:2  base may not import storage: rooms import upwards only', 'src/base/clock.ts:2  no module imports pool: do not export it']],
  ['a folder in src that is no room', { 'src/misc/a.ts': `export const a = 1\n`, ...more('src/cli/main.ts', `import { a } from '../misc/a.ts'`) },
    ['src/misc/a.ts:1  misc is not one of the rooms']],
  ['two files that import each other', {
    'tools/one/a.ts': lines(`import { b } from './b.ts'`, `export const a = b`), 'tools/one/b.ts': lines(`import { a } from './a.ts'`, `export const b = a`),
    'tools/run.ts': `import { a } from './one/a.ts'\n` },
    ['tools/one/b.ts:1  imports in a circle: tools/one/a.ts > tools/one/b.ts > tools/one/a.ts']],
  ['a file that nothing reaches', { 'src/base/money.ts': `console.log(1)\n`, 'simulators/acs/page.ts': `console.log(1)\n`, 'bench/old.ts': `console.log(1)\n`, 'client/old.ts': `console.log(1)\n`, 'tools/one/a.ts': `console.log(1)\n`, 'test/harness/old.ts': `console.log(1)\n` },
    ['bench/old.ts', 'client/old.ts', 'simulators/acs/page.ts', 'src/base/money.ts', 'test/harness/old.ts', 'tools/one/a.ts'].map((path) => `${path}:1  nothing that is run reaches this file`)],
  ['a file of src that only tests reach', { 'src/base/money.ts': `export const one = 1\n`, ...more('test/wire/sale.test.ts', `import { one } from '../../src/base/money.ts'`) },
    ['src/base/money.ts:1  only tests reach this file']],
  ['a script, style or picture that no module names', {
    'src/http/page.css': `a {}\n`, 'src/http/mark.svg': `<svg/>\n`, 'src/http/own.js': `console.log('own.js')\n`, 'src/http/tested.css': `a {}\n`,
    'simulators/acquirer/look.js': `import './parts.js'\n`, 'simulators/acquirer/parts.js': `console.log(1)\n`, 'simulators/pages.css': `a {}\n`, 'simulators/acquirer/pages.css': `a {}\n`,
    ...more('simulators/acquirer/program.ts', `asset(new URL('./look.js', import.meta.url), '../pages.css')`), ...more('test/wire/sale.test.ts', `read('../../src/http/tested.css')`) },
    ['simulators/acquirer/pages.css', 'src/http/mark.svg', 'src/http/own.js', 'src/http/page.css', 'src/http/tested.css'].map((path) => `${path}:1  no module names this file, so it is never served`)],
  ['an exported name that no module imports', more('src/base/clock.ts', `export const later = 2`, `export type Never = 1`, `const a = later, b = 1`, `export { a, b as c }`),
    ['src/base/clock.ts:2  no module imports later: do not export it', 'src/base/clock.ts:3  no module imports Never: do not export it',
     'src/base/clock.ts:5  no module imports a: do not export it', 'src/base/clock.ts:5  no module imports c: do not export it']],
  ['a simulator that reaches into the gateway', more('simulators/acquirer/program.ts', `import { open } from '../../src/three-d-secure/inbound.ts'`),
    ['simulators/acquirer/program.ts:4  a simulator may not import src/three-d-secure/inbound.ts']],
  ['a gateway that imports a simulator', { 'simulators/acquirer/reply.ts': `export const reply = 1\n`, ...more('src/cli/main.ts', `import { reply } from '../../simulators/acquirer/reply.ts'`) },
    ['src/cli/main.ts:6  src may not import simulators/acquirer/reply.ts']],
  ['a room that knows of 3-D Secure 1.0.2', { 'src/three-d-secure/legacy/pares.ts': `export const pares = 1\n`, ...more('src/cli/main.ts', `import { pares } from '../three-d-secure/legacy/pares.ts'`) },
    ['src/cli/main.ts:6  a room may not import src/three-d-secure/legacy/pares.ts']],
  ['a room that passes the office by, and a subject that opens the store of another', {
    'src/operator/keys/key-rows.ts': `export const keys = 1\n`, 'src/operator/keys/key-actions.ts': lines(`import { keys } from './key-rows.ts'`, `export const actions = keys`),
    'src/operator/cells/cells.ts': lines(`import { keys } from '../keys/key-rows.ts'`, `import { actions } from '../keys/key-actions.ts'`, `console.log(keys, actions)`),
    'src/operator/subjects.ts': lines(`import './keys/key-actions.ts'`, `import './cells/cells.ts'`, `export const all = 1`),
    ...more('src/cli/main.ts', `import { all } from '../operator/subjects.ts'`, `import { actions } from '../operator/keys/key-actions.ts'`) },
    ['src/cli/main.ts:7  src/operator/keys/key-actions.ts is for the office: import src/operator/ alone', 'src/operator/cells/cells.ts:1  src/operator/keys/key-rows.ts is for keys alone']],
  ['a client or an example that needs more than Node', {
    'client/client.ts': lines(`import { request } from 'undici'`, `import { clock } from '../src/base/clock.ts'`, `import 'node:crypto'`),
    'examples/sale.ts': lines(`import '../client/client.ts'`, `import { pool } from '../src/storage/pool.ts'`, `import 'undici'`),
    'simulators/acs/program.ts': `import '../../client/client.ts'\n` },
    ['client/client.ts:1  undici: only what Node brings may be imported here', 'client/client.ts:2  the client may not import src/base/clock.ts',
     'examples/sale.ts:2  an example may not import src/storage/pool.ts', 'examples/sale.ts:3  undici: only what Node brings may be imported here',
     'simulators/acs/program.ts:1  a simulator may not import client/client.ts']],
  ['the network in a file that is not named for it', { 'src/base/look.ts': lines(`import { lookup } from 'node:dns/promises'`, `import type { Pool } from 'pg'`, `import 'fs'`), ...more('src/cli/main.ts', `import '../base/look.ts'`) },
    ['src/base/look.ts:1  a file that is not in the list of tools/tidy/world.ts may not import node:dns/promises', 'src/base/look.ts:2  a file that is not in the list of tools/tidy/world.ts may not import pg', 'src/base/look.ts:3  a file that is not in the list of tools/tidy/world.ts may not import fs']],
  ['time or chance that is not an argument', more('src/storage/pool.ts', `const at = Date.now()`, `const day = new Date()`, `setTimeout(print, 5)`, `const die = Math.random()`, `const id = crypto.randomUUID()`),
    ['2  Date.now', '3  new Date()', '4  setTimeout', '5  Math.random', '6  crypto.randomUUID'].map((found) => `src/storage/pool.ts:${found}: take a Clock or Random instead`)],
  ['a file that is too long', { 'test/wire/sale.test.ts': tidyProject['test/wire/sale.test.ts'] + '\n'.repeat(mostLines - 1) },
    [`test/wire/sale.test.ts:331  331 lines; at most 330`]],
  ['a type name that stands for two things', { ...more('src/base/clock.ts', `export interface Opened { at: number }`), ...more('src/base/random.ts', `import type { Opened } from './clock.ts'`, `type A = Opened`) },
    ['src/three-d-secure/inbound.ts:2  src/base/clock.ts has a type Opened too']],
  ['a folder of too many files', { ...Object.fromEntries(Array.from({ length: 26 }, (_, i) => [`tools/many/a${i}.ts`, `console.log(${i})\n`])), 'tools/run.ts': lines(...Array.from({ length: 26 }, (_, i) => `import './many/a${i}.ts'`)) },
    ['tools/many:1  26 files; at most 25 in a folder']],
  ['a file in the list of the world that needs no place there', { 'src/http/outgoing.ts': `console.log(1)\n`, ...more('src/cli/main.ts', `import '../http/outgoing.ts'`) },
    ['tools/tidy/world.ts:1  src/http/outgoing.ts need not be in the list']],
  ['a folder without a name of its own', { 'src/base/utils/a.ts': `console.log(1)\n`, ...more('src/cli/main.ts', `import '../base/utils/a.ts'`) },
    ['src/base/utils:1  a folder is called after what is in it']],
  ['a phrase that is read twice, and wide prose', {
    ...more('src/base/clock.ts', `// ${nobody} else`, `const why = 'is ${told}'`, `console.log(why)`),
    ...more('README.md', `${of} the two, \`${told}\` is code.`, `| a wide row of a table may have more columns | ${'x'.repeat(80)} |`, 'word '.repeat(21).trim(), '```', 'word '.repeat(21), '```') },
    ['README.md:2  "Of the": write the subject first', 'README.md:4  104 columns; at most 100 for prose',
     `src/base/clock.ts:2  "${nobody}": write which process, user or program does not`, `src/base/clock.ts:3  "${told}": write reported, sent, shown, notified or distinguished`]],
  ['a barrel', { 'src/base/index.ts': `console.log(1)\n`, ...more('src/cli/main.ts', `import '../base/index.ts'`) },
    ['src/base/index.ts:1  no barrels: import the file that is meant']],
  ['a mark that puts something off', more('src/base/clock.ts', ...marks.map((mark) => `/* ${mark}: later */`)),
    marks.map((mark, i) => `src/base/clock.ts:${i + 2}  ${mark}: do it or leave it`)],
  ['a test that is left out or runs alone', more('test/wire/sale.test.ts', `test.only('a', () => {})`, `it . skip('b', () => {})`, `test('c, it is said', { todo: true }, () => {})`),
    [3, 4, 5].map((line) => `test/wire/sale.test.ts:${line}  every test runs, always`)],
  ['a link that leads nowhere', { 'guide/a.md': lines('# A', '[b](b.md) [readme](../README.md)', '', '[c]: c.md'), ...more('src/base/clock.ts', `// The reason is in ${doc('why')}.`) },
    ['guide/a.md:2  leads to b.md, which is not there', 'guide/a.md:4  leads to c.md, which is not there', `src/base/clock.ts:2  leads to ${doc('why')}, which is not there`]],
  ['a mention of what is not part of the project', { 'guide/a.md': `see ${shared}/design.md\n` },
    [`guide/a.md:1  ${shared} is not part of the project`]],
  ['time, the world or a dead file in the simulation', { 'simulation/program.ts': `import './world.ts'\n`, 'simulation/world.ts': lines(`import 'node:net'`, `Math.random()`),
    'simulation/old.ts': `console.log(1)\n`, 'tools/simulate.mjs': `run('simulation', 'program.js')\n` },
    ['simulation/old.ts:1  nothing that is run reaches this file', 'simulation/world.ts:1  a file that is not in the list of tools/tidy/world.ts may not import node:net', 'simulation/world.ts:2  Math.random: take a Clock or Random instead']],
  ['code and comments that are too wide', more('src/base/clock.ts', `f(${'1, '.repeat(42)}1)`, `f(${'1, '.repeat(43)}1)`, `// ${'w '.repeat(48)}w`, `// ${'w '.repeat(49)}w`, `/** a`, ` * ${'w '.repeat(50)} */`, `f('${'x'.repeat(140)}')`),
    ['3  133 columns; at most 130 for code', '5  102 columns; at most 100 for comment', '7  106 columns; at most 100 for comment'].map((found) => `src/base/clock.ts:${found}`)],
  ['a formatter that is switched off, except for a table', more('src/base/clock.ts', `f(1) ${ignore}`, ignore, `if (f(1)) f(2)`, ignore, `{ f(1); g(2) }`, ignore, `const a = [1, 2]`, ignore, `f([`, `  1,`, `  2,`, `])`, ignore),
    [2, 3, 5, 7, 9, 14].map((line) => `src/base/clock.ts:${line}  oxfmt-ignore stands on a line of its own before a table only`)],
  ['a function that is too long', more('test/wire/sale.test.ts', `describe('a', () => {`, `test('b', () => {`, ...blank(69), `})`, `const c = { d() {`, ...blank(68), `} }`, `})`,
    `function e() {`, ...blank(69), `}`, `class F { #g = () => {`, ...blank(69), `} }`),
    [[4, "test('b')"], [146, 'e'], [217, '#g']].map(([line, name]) => `test/wire/sale.test.ts:${line}  ${name} has 71 lines; at most 70`)],
]
for (const [what, files, found] of cases) {
  test(`tidy finds ${what}`, () => assert.deepEqual(violationsOf(files), found))
}

test('a table may be wide, and so may its comments: a declaration, a member, an argument, a tagged template', () => {
  const rows = ['`a', `// ${'w '.repeat(80)}`, `\`, '${'b '.repeat(80)}',`, `'c'`]
  const tables = [
    [ignore, `const a = [`, ...rows, `]`],
    [ignore, `const b: B = f([`, ...rows, `] as const) satisfies B`],
    [ignore, `const c = matrix\``, ...rows.slice(1, 2), `\``],
    [ignore, `const n = (at: A) => ({ only: [`, ...rows, `] })`],
    [ignore, `{`, `row('a')`, `row('${'b '.repeat(80)}')`, `}`],
    [`const d = {`, ignore, `e: new Map([`, ...rows, `]) }`],
    [`f(`, ignore, `[`, ...rows, `])`],
  ]
  for (const table of tables) {
    assert.deepEqual(violationsOf(more('src/storage/pool.ts', ...table)), [], table[0])
    const bare = table.filter((line) => line !== ignore)
    assert.notDeepEqual(violationsOf(more('src/storage/pool.ts', ...bare)), [], table[0])
  }
})

test('strings, templates, comments and regular expressions are neither code nor import, and a method is no global', () => {
  const innocent = more(
    'src/storage/pool.ts',
    `const a = 'Date.now() // "', b = "import x from 'pg'", c = /['"\`]import x from 'pg'[/*]/g`,
    'const d = `setTimeout ${ `${ { x: a } } Math.random ` } import y from "fastify" //`',
    `// Date.now() and import z from 'pg' are only words here, and test.skip too`,
    `socket.setTimeout(4 / 2); const e = pool / 2, f = new Date(0) // '`,
  )
  assert.deepEqual(violationsOf(innocent), [])
  const hidden = more(
    'src/storage/pool.ts',
    'const e = `${ Date.now() } ${ a / b } /`',
    'if (a) { const f = `${ b }` } setTimeout(e, 1)',
    `const g = /["]/; setInterval(e, 1); const h = /["]/`,
  )
  assert.deepEqual(
    violationsOf(hidden),
    ['2  Date.now', '3  setTimeout', '4  setInterval'].map(
      (found) => `src/storage/pool.ts:${found}: take a Clock or Random instead`,
    ),
  )
})

test('as a program it prints one line a violation and ends with 1, or says that there is nothing to say', () => {
  violationsOf(more('src/base/clock.ts', `export const later = 2`))
  const untidy = spawnSync(process.execPath, [program, join(folder, String(planted - 1))], { encoding: 'utf8' })
  assert.equal(untidy.status, 1)
  assert.match(
    untidy.stdout,
    /^src\/base\/clock\.ts:2 {2}no module imports later: do not export it\ntidy: 1 out of place in 11 files\n$/,
  )
  violationsOf({})
  const tidied = spawnSync(process.execPath, [program], { encoding: 'utf8', cwd: join(folder, String(planted - 1)) })
  assert.deepEqual([tidied.status, tidied.stdout], [0, 'tidy: 11 files, nothing to say; src has 12 lines, 6 of code\n'])
})
