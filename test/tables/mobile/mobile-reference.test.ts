import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mobileRoutes, type MobileApi } from '../../../src/mobile-api/serve.ts'
import { mobileOpenApi } from '../../../src/reference/mobile-openapi.ts'
import { mobileExample } from '../../../src/reference/mobile-rows.ts'
import { readJson, text, valueAt, type Choice, type JsonTable } from '../../../src/spec/mobile/field.ts'
import { mobileExampleOf } from '../../../src/spec/mobile/examples.ts'
import { mobileKinds } from '../../../src/spec/mobile/kinds.ts'
import { mobileOperationNames, mobileRow, type MobileOperation } from '../../../src/spec/mobile/operations.ts'
import { statusRequest } from '../../../src/spec/mobile/requests.ts'
import { finder, misfitsBy, type OpenApi } from '../project/openapi.ts'

/**
 * The reference of the mobile API: pages are compared in reference.test.ts, here is what they and
 * the OpenAPI documents say.
 */

interface Operation {
  operationId: string
  parameters: { $ref?: string; name?: string }[]
  requestBody: { content: { 'application/json': { schema: object } } }
  responses: Record<string, { description: string; content: { 'application/json': { schema: object } } }>
}

interface Document extends OpenApi {
  paths: Record<string, { post: Operation; get?: Operation }>
}

// As a program reads them: through JSON.
const written = (side: 'service' | 'merchant'): Document =>
  JSON.parse(JSON.stringify(mobileOpenApi(side, 'https://shop.example')))
const documents = { service: written('service'), merchant: written('merchant') }

const operationOf = (name: MobileOperation): Operation => documents[mobileRow(name).side].paths[mobileRow(name).path]!.post
const misfits = { service: misfitsBy(documents.service), merchant: misfitsBy(documents.merchant) }
const fitsSchema = (name: MobileOperation, value: unknown, schema: object): string[] =>
  misfits[mobileRow(name).side](value, schema)
const requestSchema = (name: MobileOperation) => operationOf(name).requestBody.content['application/json'].schema
const answerSchema = (name: MobileOperation) => operationOf(name).responses['200']!.content['application/json'].schema

for (const name of mobileOperationNames)
  test(`${name}: rows and OpenAPI document accept the examples`, () => {
    const { request, answer } = mobileRow(name)
    const example = mobileExample(name)
    assert.deepEqual(fitsSchema(name, example.request, requestSchema(name)), [])
    assert.deepEqual(fitsSchema(name, example.answer, answerSchema(name)), [])
    for (const [table, whole] of [
      [request, example.request],
      [answer, example.answer],
    ] as const)
      for (const [path, { is, need }] of Object.entries(table)) {
        const value = valueAt(whole, path)
        assert.ok(value === undefined ? need !== 'mandatory' : is.fits(value), `${path} of the example`)
      }
  })

/** A copy without what is at the path. */
function without(whole: object, path: string): object {
  const copy = structuredClone(whole)
  const names = path.split('.')
  const last = names.pop()!
  const holder = names.reduce<Record<string, unknown>>((inside, name) => inside[name] as Record<string, unknown>, { ...copy })
  if (names.length === 0) return Object.fromEntries(Object.entries(copy).filter(([name]) => name !== last))
  delete holder[last]
  return copy
}

for (const name of mobileOperationNames)
  test(`${name}: the OpenAPI document refuses the example without a mandatory member`, () => {
    const { request, answer } = mobileRow(name)
    const example = mobileExample(name)
    for (const [table, whole, schema] of [
      [request, example.request, requestSchema(name)],
      [answer, example.answer, answerSchema(name)],
    ] as const)
      for (const [path, { need }] of Object.entries(table))
        if (['mandatory', 'sourceOfFunds.card', 'destinationOfFunds.card'].includes(need)) {
          const less = without(whole, path)
          assert.equal(valueAt(less, path), undefined)
          assert.notDeepEqual(fitsSchema(name, less, schema), [], `${path} is missing`)
        }
  })

test('service and OpenAPI document accept and refuse the same variants of the examples', () => {
  const tables: [name: MobileOperation, table: JsonTable, choices: readonly Choice[]][] = [
    ['perform-verification', mobileKinds.verification.request, mobileKinds.verification.choices],
    ['perform-sale', mobileKinds.sale.request, mobileKinds.sale.choices],
    ['perform-transfer', mobileKinds.transfer.request, mobileKinds.transfer.choices],
    ['verification-status', statusRequest, []],
  ]
  for (const [name, table, choices] of tables) {
    const { request } = mobileExample(name)
    const read = readJson(table, request, choices)
    assert.notEqual(typeof read, 'string', JSON.stringify(read))
    for (const path of Object.keys(table)) {
      const value = valueAt(request, path)
      if (value === undefined) continue
      const unlike = typeof value === 'number' ? 'a word' : { another: 'thing' }
      const wrong = JSON.parse(JSON.stringify(request), (_key, one: unknown) => (one === value ? unlike : one)) as object
      const complaint = readJson(table, wrong, choices)
      assert.ok(typeof complaint === 'string' && complaint.includes(' must be '), path)
      assert.notDeepEqual(fitsSchema(name, wrong, requestSchema(name)), [], path)
    }
  }
})

test('OpenAPI: exactly one of two ways to pay, and a holder by one name or by two', () => {
  const { request } = mobileExample('perform-sale')
  const { sourceOfFunds, ...rest } = request as { sourceOfFunds: { card: object } }
  const takes = (funds: object) =>
    fitsSchema('perform-sale', { ...rest, sourceOfFunds: funds }, requestSchema('perform-sale')).length === 0
  const reference = { clientCardId: 'card-7' }
  assert.ok(takes(sourceOfFunds))
  assert.ok(takes({ reference }))
  assert.ok(!takes({}))
  assert.ok(!takes({ ...sourceOfFunds, reference }))
  assert.ok(takes({ card: { ...sourceOfFunds.card, holder: { firstName: 'Ada', lastName: 'Lovelace' } } }))
  assert.ok(!takes({ card: { ...sourceOfFunds.card, holder: { firstName: 'Ada' } } }))
})

const refsIn = (value: unknown): string[] =>
  typeof value !== 'object' || value === null
    ? []
    : Object.entries(value).flatMap(([name, inside]) => (name === '$ref' ? [String(inside)] : refsIn(inside)))

test('OpenAPI: every component is used, and a path declares its parameters', () => {
  for (const document of Object.values(documents)) {
    const refs = refsIn(document)
    for (const [kind, all] of Object.entries(document.components))
      for (const name of Object.keys(all)) assert.ok(refs.includes(`#/components/${kind}/${name}`), `${kind}/${name} is not used`)
    for (const [path, { post }] of Object.entries(document.paths))
      assert.deepEqual(
        post.parameters.map(({ $ref }) => (finder(document)($ref!) as { name: string }).name),
        [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name),
      )
  }
})

test('a text is as long as it has characters, and one of megabytes is refused without counting them', () => {
  const { fits } = text(2, 3)
  const given = [
    'a',
    'ab',
    'abc',
    'abcd',
    '\u{1f600}',
    '\u{1f600}'.repeat(2),
    '\u{1f600}'.repeat(3),
    '\u{1f600}'.repeat(4),
    'ab\u{1f600}c',
  ]
  assert.deepEqual(given.filter(fits), [given[1], given[2], given[5], given[6]])
  const longest = 'x'.repeat(2 * 1024 * 1024)
  const since = performance.now()
  for (let times = 0; times < 200; times++) assert.ok(!fits(longest))
  assert.ok(performance.now() - since < 1_000)
})

test('OpenAPI: each operation is in the document of its side, under its name', () => {
  for (const [side, { paths }] of Object.entries(documents)) {
    const names = Object.values(paths).map(({ post }) => post.operationId)
    assert.deepEqual(
      names,
      mobileOperationNames.filter((name) => mobileRow(name).side === side),
    )
  }
  assert.deepEqual(
    documents.merchant.paths['/auth/request-access-token']!.get!.parameters.map(({ name }) => name),
    ['consumer', 'email'],
  )
})

test('the service serves what the reference says, by these paths', () => {
  const routes = mobileRoutes('', {} as MobileApi)
  const paths = mobileOperationNames
    .map(mobileRow)
    .filter(({ side }) => side === 'service')
    .map(({ path }) => `POST ${path}`)
  assert.deepEqual(
    routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).toSorted(),
    paths.toSorted(),
  )
})

/** docs/choices.md, "Mobile API". */
const badRequests = new Set(['INVALID_REQUEST', 'ORDER_NOT_FOUND'])

test('a refusal has the status of its cause, and the OpenAPI document has each cause and when', () => {
  for (const name of mobileOperationNames) {
    const { side, refusals } = mobileRow(name)
    for (const { cause, http, when } of refusals) {
      if (side === 'service') assert.equal(http, badRequests.has(cause) ? 400 : 500)
      const { description, content } = operationOf(name).responses[http]!
      assert.ok(description.includes(`${cause}: ${when}`))
      const body = { error: { cause, code: 'x', message: 'why' }, invoiceId: mobileExampleOf('invoiceId') }
      const { schema } = content['application/json']
      assert.deepEqual(fitsSchema(name, body, schema), [])
      assert.notDeepEqual(fitsSchema(name, { ...body, error: { ...body.error, cause: 'ANOTHER' } }, schema), [])
    }
  }
})
