/**
 * The two sides of the mobile API as OpenAPI 3.1: JSON objects, read from the rows by their paths.
 */
import type { Choice } from '../spec/mobile/field.ts'
import { performAnswer, refusalBody } from '../spec/mobile/answers.ts'
import { mobileExampleOf } from '../spec/mobile/examples.ts'
import { initiateAnswer, notificationAnswer } from '../spec/mobile/merchant.ts'
import {
  mobileOperationNames,
  mobileRow,
  refusalNamesInvoice,
  type MobileOperation,
  type MobileOperationRow,
  type MobileTable,
} from '../spec/mobile/operations.ts'
import { statusRequest } from '../spec/mobile/requests.ts'
import type { SignedText } from '../spec/mobile/signatures.ts'
import { sentence } from './markdown.ts'
import { mobileRows } from './mobile-rows.ts'

type Json = Readonly<Record<string, unknown>>

const titles = {
  service: 'Tollgate mobile API',
  merchant: "Merchant's server of the Tollgate mobile API",
} as const

const descriptions = {
  service:
    "The calls that a merchant's app makes. The merchant's server begins each transaction and signs it; " +
    'the app carries the signature here.',
  merchant:
    "The calls that a merchant's server answers. Its own app begins transactions. The service asks the server to confirm " +
    'a transaction, and reports the id of a registered card. A signature is the HMAC-SHA1 of the named values, joined ' +
    'without separators, in upper-case hexadecimal (lower case is accepted). The key is the control key without its ' +
    'dashes, read as hexadecimal digits.',
} as const

export function mobileOpenApi(side: MobileOperationRow['side'], url: string): Json {
  const schemas = openSchemas()
  const operations = mobileOperationNames.filter((operation) => mobileRow(operation).side === side)
  const paths = Object.fromEntries(operations.map((operation) => [mobileRow(operation).path, itemOf(operation, schemas)]))
  const used = new Set(operations.flatMap((operation) => namesIn(mobileRow(operation).path)))
  return {
    openapi: '3.1.0',
    info: {
      title: titles[side],
      version: '1',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: descriptions[side],
    },
    servers: [{ url }],
    paths,
    components: {
      schemas: schemas.all(),
      parameters: Object.fromEntries([...used].map((name) => [name, parameters[name]])),
    },
  }
}

const parameters: Readonly<Record<string, Json>> = {
  endpointId: parameter('endpointId', 'the endpoint that the answer of initiate named', '^[1-9][0-9]{0,17}$'),
  invoiceId: parameter('invoiceId', 'the invoice that the answer of initiate named', '^[A-Za-z0-9._-]{1,128}$'),
  assignedId: parameter('assignedId', 'assignedId of the chosen fee', '^[A-Za-z0-9._-]+$'),
}

function parameter(name: string, description: string, pattern: string): Json {
  return { name, in: 'path', required: true, description: sentence(description), schema: { type: 'string', pattern } }
}

const namesIn = (path: string): string[] => [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name!)

/** Names of tables that several operations share; any other has the name of its operation. */
const shared = new Map<MobileTable, string>([
  [statusRequest, 'status-request'],
  [performAnswer, 'perform-answer'],
  [initiateAnswer, 'initiate-answer'],
  [notificationAnswer, 'notification-answer'],
])

/** Each table has one schema, whoever uses it. */
function openSchemas() {
  const schemas: Record<string, Json> = {}
  const of = (table: MobileTable, wanted: string, choices: readonly Choice[] = []): Json => {
    const name = shared.get(table) ?? wanted
    schemas[name] ??= objectSchema(table, choices)
    return { $ref: `#/components/schemas/${name}` }
  }
  return {
    of,
    refusal: (row: MobileOperationRow) =>
      refusalNamesInvoice(row) ? of({ ...refusalBody, invoiceId: invoiceRow }, 'refusal-of-invoice') : of(refusalBody, 'refusal'),
    all: () => schemas,
  }
}

const invoiceRow: MobileTable[string] = {
  is: { must: 'a text', schema: { type: 'string' }, fits: (value) => typeof value === 'string' },
  need: 'mandatory',
  means: 'as in the path; for a notification, the invoice of its token, or empty if there is none',
}

function itemOf(operation: MobileOperation, schemas: ReturnType<typeof openSchemas>): Json {
  const row = mobileRow(operation)
  const { path, method, means, request, choices, answer } = row
  const same = {
    summary: sentence(means),
    description: [signedText('The request', row.carries), signedText('The answer', row.answers)].filter(Boolean).join(' '),
    security: [],
    responses: {
      200: { description: 'The answer.', content: content(schemas.of(answer, `${operation}-answer`)) },
      ...refusalsOf(row, schemas),
    },
  }
  const named = namesIn(path).map((name) => ({ $ref: `#/components/parameters/${name}` }))
  const body = { required: true, content: content(schemas.of(request, `${operation}-request`, choices)) }
  const post = { operationId: operation, ...same, parameters: named, requestBody: body }
  if (method === 'POST') return { post }
  const query = mobileRows(request).map(({ path: name, need, means: meaning }) => ({
    name,
    in: 'query',
    required: need === 'mandatory',
    description: sentence(meaning),
    schema: request[name]!.is.schema,
  }))
  return {
    get: { operationId: `${operation}-by-query`, ...same, parameters: query },
    post: { ...post, requestBody: { ...body, required: false } },
  }
}

const content = (schema: Json): Json => ({ 'application/json': { schema } })

function signedText(which: string, signed: SignedText | undefined): string {
  if (signed === undefined) return ''
  const parts = signed.parts.map(({ path, optional }) => `\`${path}\`${optional ? ' (if there is one)' : ''}`)
  return `${which} has \`${signed.at}\`, which signs ${parts.join(' + ')}.`
}

function refusalsOf(row: MobileOperationRow, schemas: ReturnType<typeof openSchemas>): Json {
  const statuses = [...new Set(row.refusals.map(({ http }) => http))].toSorted((a, b) => a - b)
  return Object.fromEntries(
    statuses.map((status) => {
      const here = row.refusals.filter(({ http }) => http === status)
      const causes = [...new Set(here.map(({ cause }) => cause))]
      const narrowed = { properties: { error: { properties: { cause: { enum: causes } } } } }
      return [
        status,
        {
          description: here.map(({ cause, when }) => `${cause}: ${when}.`).join(' '),
          content: content({ allOf: [schemas.refusal(row), narrowed] }),
        },
      ]
    }),
  )
}

/**
 * The object that has each row of a table at its path. What is required in an object requires the
 * object too, unless that can be chosen.
 */
function objectSchema(table: MobileTable, choices: readonly Choice[] = []): Json {
  const chosen = new Set(choices.flatMap(({ at, of }) => of.flat().map((name) => `${at}.${name}`)))
  const below = (at: string): string[] => {
    const under = Object.keys(table).filter((path) => path.startsWith(at))
    return [...new Set(under.map((path) => at + path.slice(at.length).split('.')[0]!))]
  }
  const isRequired = (path: string): boolean =>
    !chosen.has(path) &&
    (table[path]
      ? table[path].need !== 'optional' && !isConditional(table[path].need)
      : choices.some(({ at }) => at === path) || below(`${path}.`).some(isRequired))
  const schemaAt = (path: string): Json => {
    const row = table[path]
    if (row) return leafSchema(path, row)
    const members = below(path === '' ? '' : `${path}.`)
    const choice = choices.find(({ at }) => at === path)
    const required = members.filter(isRequired).map(lastName)
    return {
      type: 'object',
      properties: Object.fromEntries(members.map((member) => [lastName(member), schemaAt(member)])),
      ...(required.length > 0 && { required }),
      ...(choice && { [choice.has === 'exactly one' ? 'oneOf' : 'anyOf']: choice.of.map((names) => ({ required: names })) }),
    }
  }
  return schemaAt('')
}

const isConditional = (need: string): boolean => need.startsWith('when ')

const lastName = (path: string): string => path.split('.').at(-1)!

function leafSchema(path: string, { is, need, means }: MobileTable[string]): Json {
  const example = mobileExampleOf(path)
  const condition = isConditional(need) ? ` ${sentence(need)}` : ''
  return { ...is.schema, description: `${sentence(means)}${condition}`, ...(example !== undefined && { examples: [example] }) }
}
