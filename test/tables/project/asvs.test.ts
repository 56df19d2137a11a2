// docs/asvs.md and docs/security.md: a row for every requirement, and everything that they name.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commandsReference } from '../../../tools/commands-page.ts'

/** The levels of the requirements of each section of ASVS 5.0.0, in the order of their numbers. */
// oxfmt-ignore
const levels: Record<string, string> = {
  '1.1': '22', '1.2': '1111122223', '1.3': '112222222223', '1.4': '222', '1.5': '123',
  '2.1': '122', '2.2': '112', '2.3': '12223', '2.4': '23',
  '3.1': '3', '3.2': '113', '3.3': '12223', '3.4': '11222233', '3.5': '11122333', '3.6': '3', '3.7': '22333',
  '4.1': '12233', '4.2': '23333', '4.3': '22', '4.4': '1222',
  '5.1': '2', '5.2': '112333', '5.3': '113', '5.4': '222',
  '6.1': '122', '6.2': '111111112222', '6.3': '11223333', '6.4': '112233', '6.5': '22222333', '6.6': '2223', '6.7': '33', '6.8': '2222',
  '7.1': '222', '7.2': '1111', '7.3': '22', '7.4': '11222', '7.5': '223', '7.6': '22',
  '8.1': '1233', '8.2': '1123', '8.3': '133', '8.4': '23',
  '9.1': '111', '9.2': '1222',
  '10.1': '22', '10.2': '223', '10.3': '22223', '10.4': '1111122222233333', '10.5': '22222', '10.6': '22', '10.7': '222',
  '11.1': '2233', '11.2': '22233', '11.3': '11233', '11.4': '1222', '11.5': '23', '11.6': '23', '11.7': '33',
  '12.1': '12233', '12.2': '11', '12.3': '22223',
  '13.1': '2333', '13.2': '222223', '13.3': '2233', '13.4': '1222233',
  '14.1': '22', '14.2': '12223333', '14.3': '122',
  '15.1': '12233', '15.2': '12233', '15.3': '1222222', '15.4': '3333',
  '16.1': '2', '16.2': '22222', '16.3': '2222', '16.4': '222', '16.5': '2223',
  '17.1': '23', '17.2': '22223333', '17.3': '22',
}

const asvs = readFileSync('docs/asvs.md', 'utf8')
const rows = tableRows(asvs).filter(([number]) => /^\d+\.\d+\.\d+$/.test(number!))
const required = Object.entries(levels).flatMap(([section, digits]) =>
  Array.from(digits, (level, i) => [`${section}.${i + 1}`, level] as const).filter(([, level]) => level !== '3'),
)

test('every requirement of levels 1 and 2 has one row, with its level', () => {
  assert.deepEqual(
    rows.map(([number, level]) => [number, level]),
    required,
  )
})

test('each row has an answer that is explained above, and says how', () => {
  const words = new Set(tableRows(asvs.slice(0, asvs.indexOf('## V1 '))).map(([word]) => word))
  for (const [number, , answer, how, ...more] of rows) {
    assert.ok(answer !== undefined && answer !== '' && words.has(answer), `${number}: ${answer}`)
    assert.ok(how !== undefined && how.length > 5, number)
    assert.equal(more.length, 1, `${number} has another number of columns`)
  }
})

test('whatever is met names a file that shows it', () => {
  for (const [number, , answer, , where] of rows)
    if (answer === 'met' || answer === 'both') assert.match(where!, /\]\(/, `${number} names nothing`)
})

for (const document of ['docs/asvs.md', 'docs/security.md', 'SECURITY.md'])
  test(`${document}: each file, script, variable and option that it names exists`, async () => {
    const text = readFileSync(document, 'utf8')
    const scripts = (JSON.parse(readFileSync('package.json', 'utf8')) as { scripts: object }).scripts
    const operating = await operatorsPages()
    for (const [, target] of text.matchAll(/\]\(([^)#:]+)(?:#[^)]*)?\)/g))
      assert.ok(existsSync(join(document, '..', target!)), target)
    for (const [, path] of text.matchAll(/`((?:src|test|docs|tools)\/[^`]+)`/g)) assert.ok(existsSync(path!), path)
    for (const [, name] of text.matchAll(/`npm run ([a-z:]+)/g)) assert.ok(Object.hasOwn(scripts, name!), name)
    for (const [, name] of text.matchAll(/`([A-Z][A-Z]+(?:_[A-Z]+)+)/g)) assert.ok(operating.includes(name!), name)
    for (const [, name] of text.matchAll(/`[^`]*?(--[a-z][a-z0-9-]+)/g)) assert.ok(knownOption(name!, operating), name)
  })

/** What is written for operators, by hand and from the rows of the commands. */
const operatorsPages = async (): Promise<string> =>
  [...['install', 'run', 'grow'].map((page) => readFileSync(`docs/${page}.md`, 'utf8')), await commandsReference()].join('\n')

/** Options of ours are described for operators; `--disable-sigusr1` is one of Node. */
function knownOption(name: string, operating: string): boolean {
  return operating.includes(name) || readFileSync('CHANGELOG.md', 'utf8').includes(name) || name === '--disable-sigusr1'
}

/** The cells of the rows of all tables, without their heads' rules. */
function tableRows(text: string): string[][] {
  const lines = text.split('\n').filter((line) => line.startsWith('| '))
  return lines.map((line) =>
    line
      .slice(1, line.lastIndexOf('|'))
      .split('|')
      .map((cell) => cell.trim()),
  )
}
