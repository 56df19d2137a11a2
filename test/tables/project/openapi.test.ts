import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openApi } from '../../../src/reference/openapi.ts'
import { mobileOpenApi } from '../../../src/reference/mobile-openapi.ts'
import { operatorOpenApi } from '../../../src/operator-api/openapi.ts'
import { offers } from '../../../src/operator/offered.ts'
import { exampleFor } from '../../../src/reference/example.ts'
import { operationNames } from '../../../src/spec/gateway/operations.ts'
import { faultsOf, misfitsBy, type OpenApi } from './openapi.ts'

// As a program reads them: through JSON.
const written = (document: object): OpenApi => JSON.parse(JSON.stringify(document))
const documents = {
  'the gateway API': written(openApi()),
  'the mobile API': written(mobileOpenApi('service', 'https://pay.example')),
  'the API of operators': written(operatorOpenApi(await offers())),
  "a merchant's server": written(mobileOpenApi('merchant', 'https://shop.example')),
}

interface Schema {
  examples?: unknown[]
}

/** Every schema inside that has examples, with the name under which it stands. */
function exampled(inside: unknown, name = ''): [name: string, schema: Schema][] {
  if (typeof inside !== 'object' || inside === null) return []
  const own: [string, Schema][] = Array.isArray((inside as Schema).examples) ? [[name, inside]] : []
  return [...own, ...Object.entries(inside).flatMap(([key, below]) => exampled(below, `${name}/${key}`))]
}

for (const [name, document] of Object.entries(documents)) {
  test(`${name}: the document is valid OpenAPI 3.1, and its examples fit their schemas`, async () => {
    assert.match(document.openapi, /^3\.1\./)
    assert.deepEqual(await faultsOf(document), [])
    const misfitsOf = misfitsBy(document)
    const all = exampled(document.components)
    assert.ok(all.length > 10 || name === 'the API of operators')
    for (const [at, schema] of all)
      for (const example of schema.examples!) assert.deepEqual(misfitsOf(example, schema), [], `${at}: ${String(example)}`)
  })
}

type Change = (copy: { openapi: string; info: object; paths: Record<string, { post: Record<string, unknown> }> }) => void
const firstOf = (paths: Record<string, { post: Record<string, unknown> }>) => Object.values(paths)[0]!.post
// oxfmt-ignore
const malformed: [what: string, change: Change, says: RegExp][] = [
  ['a version that is none',             (copy) => { copy.openapi = '4' },                                          /version/],
  ['no title',                           (copy) => { copy.info = { version: '1' } },                                /title/],
  ['a path without its slash',           (copy) => { copy.paths = { sale: {} } as never },                          /\/paths/],
  ['a response without a description',   ({ paths }) => { firstOf(paths)['responses'] = { 200: {} } },              /description/],
  ['a parameter in no place',            ({ paths }) => { firstOf(paths)['parameters'] = [{ name: 'a', in: 'cookies', schema: {} }] }, /parameters\/0/],
  ['a body that is a list',              ({ paths }) => { firstOf(paths)['requestBody'] = [] },                     /requestBody/],
  ['a reference that leads nowhere',     ({ paths }) => { firstOf(paths)['requestBody'] = { $ref: '#/components/requestBodies/none' } }, /none/],
]
for (const [what, change, says] of malformed)
  test(`a document with ${what} is not valid`, async () => {
    for (const document of Object.values(documents)) {
      const copy = structuredClone(document)
      change(copy as never)
      assert.match((await faultsOf(copy)).join('\n'), says)
    }
  })

interface Operation {
  operationId: string
  requestBody: { content: Record<string, { schema: { $ref: string } }> }
}

const gateway = documents['the gateway API']
const misfits = misfitsBy(gateway)
const operations = Object.values(gateway.paths).map(({ post }) => post as Operation)

for (const name of operationNames)
  test(`${name}: the OpenAPI document takes the example, and not without what is mandatory`, () => {
    const { requestBody } = operations.find(({ operationId }) => operationId === name)!
    const { schema } = requestBody.content['application/x-www-form-urlencoded']!
    const { required } = gateway.components['schemas']![schema.$ref.split('/').at(-1)!] as { required: string[] }
    const example = Object.fromEntries(new URLSearchParams(exampleFor(name).body))
    assert.deepEqual(misfits(example, schema), [])
    for (const field of required)
      assert.deepEqual(misfits(Object.fromEntries(Object.entries(example).filter(([key]) => key !== field)), schema), [
        ` must have required property '${field}'`,
      ])
  })
