import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { openClient } from '../../../client/client.ts'

/** What client/README.md shows is what the examples do, which is compiled and run. */

const root = join(import.meta.dirname, '../../../..')
const text = (...path: string[]): string => readFileSync(join(root, ...path), 'utf8')
const trimmed = (code: string): string =>
  code
    .trim()
    .split('\n')
    .map((line) => line.trim())
    .join('\n')

const examples = readdirSync(join(root, 'examples'))
  .filter((name) => name.endsWith('.ts'))
  .map((name) => text('examples', name))
const snippetsOf = (page: string): string[] => [...page.matchAll(/^```ts\n(.*?)^```/gms)].map(([, code = '']) => trimmed(code))

test('every snippet stands in an example, line by line', () => {
  const all = examples.map(trimmed)
  for (const page of [text('client', 'README.md'), text('README.md')])
    for (const snippet of snippetsOf(page))
      assert.ok(
        all.some((code) => code.includes(snippet)),
        `in no example:\n${snippet}`,
      )
})

test('every operation of the client has a snippet', () => {
  const client = openClient({ baseUrl: 'http://127.0.0.1', login: 'shop', controlKey: 'key', endpoint: 1 })
  const shown = snippetsOf(text('client', 'README.md')).join('\n')
  for (const operation of Object.keys(client)) assert.ok(shown.includes(`client.${operation}(`), `${operation} is not shown`)
})
