import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { readFields } from '../../../src/spec/field.ts'
import { readForm } from '../../../src/spec/form.ts'
import { callbackParams } from '../../../src/spec/gateway/callback.ts'
import { operationNames, operationRow } from '../../../src/spec/gateway/operations.ts'
import { kindWords } from '../../../src/spec/words.ts'
import { exampleFor, exampleKey } from '../../../src/reference/example.ts'
import { operatorFiles } from '../../../tools/operator-page.ts'
import { referenceFiles } from '../../../src/reference/files.ts'
import { openApi } from '../../../src/reference/openapi.ts'
import { sha1 } from '../../conformance/requests/client.ts'
import { finder } from './openapi.ts'

const folder = join(import.meta.dirname, '../../../../docs/reference')

test('docs/reference is what the rows make', async () => {
  const made = new Map([...referenceFiles(), ...(await operatorFiles())])
  assert.deepEqual(readdirSync(folder).sort(), [...made.keys()].sort(), '`npm run generate` writes docs/reference anew')
  for (const [name, text] of made)
    assert.ok(readFileSync(join(folder, name), 'utf8') === text, `${name} is stale; \`npm run generate\` writes it anew`)
})

test('the row of `type` names every type that a callback has, and that of `status` what a cardholder may return with', () => {
  const words = (text: string) => text.split(/[^a-z-]+/)
  const named = words(callbackParams.type.means)
  for (const { callbackType } of Object.values(kindWords)) assert.ok(named.includes(callbackType), callbackType)
  for (const status of ['approved', 'declined', 'error', 'filtered', 'processing'])
    assert.ok(words(callbackParams.status.means).includes(status), status)
})

const bodyOf = (operation: (typeof operationNames)[number]) => {
  const pairs = readForm(Buffer.from(exampleFor(operation).body))
  assert.ok(pairs)
  return pairs
}

for (const operation of operationNames)
  test(`${operation}: the example of the reference is a request that the tables take`, () => {
    const read = readFields(operationRow(operation).request, bodyOf(operation))
    assert.ok('values' in read, 'refused' in read ? read.detail : '')
  })

// oxfmt-ignore
const controls: [operation: (typeof operationNames)[number], ...parts: string[]][] = [
  ['sale',                'id', 'client_orderid', '1042', 'email'],
  ['preauth',             'id', 'client_orderid', '1042', 'email'],
  ['account-verification', 'id', 'client_orderid', 'email'],
  ['make-rebill-sale',    'login', 'client_orderid', 'cardrefid', '1042', 'currency'],
  ['make-rebill-preauth', 'login', 'client_orderid', 'cardrefid', '1042', 'currency'],
  ['make-rebill',         'login', 'client_orderid', 'cardrefid', '1042', 'currency'],
  ['capture',             'login', 'client_orderid', 'orderid', '1042', 'currency'],
  ['return',              'login', 'client_orderid', 'orderid', '1042', 'currency'],
  ['void',                'login', 'client_orderid', 'orderid'],
  ['create-card-ref',     'login', 'client_orderid', 'orderid'],
  ['get-card-info',       'login', 'cardrefid'],
  ['status',              'login', 'client_orderid', 'orderid'],
  ['upload-method-url-result', 'login', 'client-order-id', 'orderid'],
  ['upload-cres-result',  'login', 'client-order-id', 'orderid'],
  ['upload-pares-result', 'login', 'client-order-id', 'orderid'],
]

for (const [operation, ...parts] of controls)
  test(`${operation}: the control of the example is ${parts.join(' + ')} + key`, () => {
    const sent = new Map(bodyOf(operation))
    const values = parts.map((part) => (part === 'id' ? '101' : (sent.get(part) ?? part)))
    assert.equal(sent.get('control'), sha1(...values, exampleKey))
  })

interface Operation {
  operationId: string
  parameters: { $ref: string }[]
  security: Record<string, unknown>[]
  requestBody: { content: Record<string, unknown> }
  responses: Record<string, unknown>
}

interface Document {
  paths: Record<string, { post: Operation }>
  components: Record<string, Record<string, { name: string; in: string; required?: string[]; properties?: object }>>
}

// As a program reads it: through JSON.
const document: Document = JSON.parse(JSON.stringify(openApi()))

const at = finder(document)

function refsIn(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inside]) => (name === '$ref' ? [String(inside)] : refsIn(inside)))
}

test('OpenAPI: every component is used', () => {
  const refs = refsIn(document)
  for (const [kind, all] of Object.entries(document.components))
    for (const name of Object.keys(all))
      assert.ok(kind === 'securitySchemes' || refs.includes(`#/components/${kind}/${name}`), `${kind}/${name} is not used`)
})

test('OpenAPI: each operation is there by an endpoint and by a group, under an id of its own', () => {
  const ids = Object.values(document.paths).map(({ post }) => post.operationId)
  assert.deepEqual(ids.sort(), operationNames.flatMap((name) => [name, `${name}-group`]).sort())
  assert.equal(new Set(ids).size, ids.length)
})

test('OpenAPI: a path declares its parameters, no fewer and no more', () => {
  for (const [path, { post }] of Object.entries(document.paths)) {
    const declared = post.parameters.map(({ $ref }) => at($ref) as { name: string; in: string })
    const inPath = declared.filter((one) => one.in === 'path').map(({ name }) => name)
    assert.deepEqual(
      inPath,
      [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
    )
  }
})

test('OpenAPI: bodies are forms, replies come in both formats, and what is required is described', () => {
  for (const [path, { post }] of Object.entries(document.paths)) {
    assert.deepEqual(Object.keys(post.requestBody.content), ['application/x-www-form-urlencoded'])
    const { content } = post.responses['200'] as { content: object }
    assert.deepEqual(Object.keys(content), ['text/html', 'application/vnd.pay+json'])
    const isV4 = path.startsWith('/api/v4/')
    assert.deepEqual(post.security, isV4 ? [{ oauth: [] }] : [])
    const denied = at((post.responses['403'] as { $ref: string }).$ref) as { content: object }
    assert.equal('text/html' in denied.content, isV4)
  }
  for (const [name, { required = [], properties = {} }] of Object.entries(document.components.schemas!))
    for (const field of required) assert.ok(field in properties, `${name} requires ${field}, which it does not describe`)
})
