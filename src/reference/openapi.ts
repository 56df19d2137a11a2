/** The gateway API as OpenAPI 3.1: form bodies, replies as form text and as JSON objects. */
import { inWords, type Formula } from '../spec/gateway/control.ts'
import type { Table } from '../spec/field.ts'
import { exampleOf } from '../spec/gateway/examples.ts'
import { operationNames, operationRow, type Operation } from '../spec/gateway/operations.ts'
import { refusalFields, type ReplyTable } from '../spec/gateway/reply.ts'
import { refusals } from '../spec/refusals.ts'
import { exampleBaseUrl } from './example.ts'
import { hasIdempotencyKey, keyMeaning, sentence } from './markdown.ts'
import { refusalNames } from './refusal-rows.ts'
import { requestRows } from './rows.ts'

type Json = Readonly<Record<string, unknown>>

const form = 'application/x-www-form-urlencoded'
const pairs = 'text/html'
const json = 'application/vnd.pay+json'
const schemaRef = (name: string): Json => ({ $ref: `#/components/schemas/${name}` })

export function openApi(baseUrl = exampleBaseUrl): Json {
  const schemas = openSchemas()
  const paths = Object.fromEntries(operationNames.flatMap((operation) => pathsOf(operation, schemas)))
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate gateway API',
      version: '1',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description:
        'Card payments. Every operation is a POST of a form. Most are signed by the field `control`: the SHA-1, in lower-case ' +
        'hexadecimal, of the parts that the description of the operation names, joined without separators; the last part ' +
        'is the control key of the merchant. Operations of v4 are signed with OAuth 1.0a instead. Fields without a value ' +
        'are left out of replies.',
    },
    servers: [{ url: baseUrl, description: 'the base URL of an installation' }],
    tags: Object.entries(tags).map(([name, description]) => ({ name, description })),
    paths,
    components: { schemas: schemas.all(), responses: responses(), parameters, securitySchemes },
  }
}

const tags = {
  payment: 'charge, hold or verify a card',
  rebill: 'charge a stored card again',
  follow: 'capture, return or void an approved order',
  reference: 'stored cards',
  status: 'the state of an order',
  upload: "uploads by a merchant's server during 3-D Secure",
}

const parameters = {
  endpoint_id: idParameter('endpoint_id', 'id of an endpoint; its currency is that of the request'),
  group_id: idParameter('group_id', 'id of a group of endpoints; the currency of the request selects the endpoint'),
  idempotency_key: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: sentence(keyMeaning),
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[\\x21-\\x7e]+$' },
  },
}

function idParameter(name: string, description: string): Json {
  return { name, in: 'path', required: true, description, schema: { type: 'string', pattern: '^[1-9][0-9]{0,17}$' } }
}

const securitySchemes = {
  oauth: {
    type: 'http',
    scheme: 'OAuth',
    description:
      'OAuth 1.0a (RFC 5849) without a token: oauth_consumer_key is the login, oauth_signature_method RSA-SHA256. ' +
      'The signature covers the base string of method, address and all parameters, including those of the body.',
  },
}

/** Tables by name; each table has one schema. */
function openSchemas() {
  const names = new Map<object, string>()
  const schemas: Record<string, Json> = { refusal: replySchema(refusalFields) }
  const nameOf = <T extends Table | ReplyTable>(table: T, wanted: string, make: (table: T) => Json): Json => {
    const name = names.get(table) ?? wanted
    names.set(table, name)
    schemas[name] ??= make(table)
    return schemaRef(name)
  }
  return {
    request: (table: Table, operation: Operation) => nameOf(table, `${operation}-request`, requestSchema),
    reply: (table: ReplyTable, operation: Operation) =>
      nameOf(table, table === operationRow('sale').reply ? 'async-response' : `${operation}-response`, replySchema),
    all: () => schemas,
  }
}

function requestSchema(table: Table): Json {
  const properties = requestRows(table).map(({ name, alias, kind, need, means }) => {
    const { min, max } = table[name]!.is
    const example = exampleOf(name)
    const notes = [
      sentence(means),
      kind !== 'text' && `A value of the kind ${kind}.`,
      alias && `${alias} is another spelling.`,
      need.startsWith('when') && `Mandatory ${need}.`,
    ]
    return [
      name,
      {
        type: 'string',
        description: notes.filter(Boolean).join(' '),
        ...(min === undefined ? {} : { minLength: min }),
        ...(Number.isFinite(max) ? { maxLength: max } : {}),
        ...(example === undefined ? {} : { examples: [example] }),
      },
    ] as const
  })
  const required = Object.keys(table).filter((name) => table[name]!.need === 'mandatory')
  return { type: 'object', properties: Object.fromEntries(properties), required }
}

function replySchema(table: ReplyTable): Json {
  const properties = Object.entries(table).map(([name, { means }]) => [name, { type: 'string', description: sentence(means) }])
  return { type: 'object', properties: Object.fromEntries(properties), required: ['type', 'serial-number'] }
}

/** Pairs in one text, which is a form with this schema. */
const textOf = (schema: Json): Json => ({ type: 'string', contentMediaType: form, contentSchema: schema })

const http = (status: number): string =>
  [...new Set(refusalNames.flatMap((name) => (refusals[name].http === status ? refusals[name].code : [])))].join(', ')

const refusalStatuses = [...new Set(refusalNames.map((name) => refusals[name].http))].sort((a, b) => a - b)

const responses = (): Json => ({
  ...Object.fromEntries(
    refusalStatuses.map((status) => [
      `refused-${status}`,
      { description: `Refused with code ${http(status)}.`, content: { [json]: { schema: schemaRef('refusal') } } },
    ]),
  ),
  'access-denied': {
    description: 'The signature is wrong (an HTML page in both formats), or the request is refused with code 2 or 5.',
    content: {
      [pairs]: { schema: { type: 'string', description: 'An HTML page that says: Access is denied.' } },
      [json]: { schema: schemaRef('refusal') },
    },
  },
})

function pathsOf(operation: Operation, schemas: ReturnType<typeof openSchemas>): [path: string, item: Json][] {
  const { path, kind, means, note, request, reply, signed } = operationRow(operation)
  const replied = schemas.reply(reply, operation)
  const oauth = signed === 'OAuth'
  const shared = {
    tags: [kind],
    summary: sentence(means),
    description: [...(note === undefined ? [] : [note]), oauth ? 'Signed with OAuth 1.0a.' : signedText(signed)].join(' '),
    security: oauth ? [{ oauth: [] }] : [],
    requestBody: { required: true, content: { [form]: { schema: schemas.request(request, operation) } } },
    responses: {
      200: {
        description: 'The reply; in the form format also a refusal.',
        content: {
          [pairs]: { schema: textOf({ anyOf: [replied, schemaRef('refusal')] }) },
          [json]: { schema: replied },
        },
      },
      ...Object.fromEntries(
        refusalStatuses.map((status) => [
          status,
          { $ref: `#/components/responses/${status === 403 && oauth ? 'access-denied' : `refused-${status}`}` },
        ]),
      ),
    },
  }
  const operationOf = (operationId: string, id: string): Json => {
    const used = [id, ...(hasIdempotencyKey(operation) ? ['idempotency_key'] : [])]
    const refs = used.map((name) => ({ $ref: `#/components/parameters/${name}` }))
    return { post: { operationId, ...shared, parameters: refs } }
  }
  return [
    [`${path}/{endpoint_id}`, operationOf(operation, 'endpoint_id')],
    [`${path}/group/{group_id}`, operationOf(`${operation}-group`, 'group_id')],
  ]
}

const signedText = (formula: Formula): string =>
  `Signed over ${formula
    .map(
      ({ parts, when, ofTheOrder }) =>
        `\`${inWords(parts)}\`${when ? ` if ${when}` : ''}${ofTheOrder ? ', with amount and currency of the order' : ''}`,
    )
    .join('; or ')}.`
