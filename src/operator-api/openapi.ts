/** The API of operators as OpenAPI 3.1, from the rows of its actions. */
import { jsonSchemaOf } from '../entity/fields.ts'
import { jsonName, schemaOf } from '../entity/json.ts'
import type { Inputs } from '../operator/action.ts'
import type { Offer } from '../operator/offered.ts'
import { changes } from '../operator/permissions.ts'
import { basePath } from './asking.ts'

type Json = Readonly<Record<string, unknown>>

const json = 'application/json'
const exported = {
  'text/csv': { schema: { type: 'string', description: 'all rows, after a line with the titles' } },
  'application/x-ndjson': { schema: { type: 'string', description: 'all rows, a JSON object a line' } },
}
const ref = (name: string): Json => ({ $ref: `#/components/${name}` })
const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`

/** Inputs that a command would read from standard input are mandatory. */
const asMember = ([name, input]: [string, Inputs[string]]): [string, Inputs[string]] => [
  name,
  { ...input, means: apiMeans(input), ...(input.piped && { needed: true }) },
]

export function operatorOpenApi(routes: readonly Offer[]): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Tollgate operator API',
      version: '1',
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      description: 'The actions of operators. Each action needs a permission, which the role of the token gives.',
    },
    servers: [{ url: 'https://operator.example', description: 'OPERATOR_API_URL of an installation' }],
    security: [{ token: [] }],
    paths: Object.fromEntries(routes.map((route) => [`${basePath}/${route.path}`, pathItem(route)])),
    components: { securitySchemes, parameters, responses, schemas: { problem } },
  }
}

function pathItem(route: Offer): Json {
  const { action, byGet } = route
  const parameters = [
    ...(changes(action) ? [ref('parameters/idempotency_key')] : []),
    ...(versioned(route) ? [ref('parameters/if_match')] : []),
  ]
  const body = {
    required: true,
    content: { [json]: { schema: jsonSchemaOf(Object.fromEntries(Object.entries(action.takes).map(asMember))) } },
  }
  return {
    post: { ...operation(route, ''), ...(parameters.length > 0 && { parameters }), requestBody: body },
    ...(byGet && { get: { ...operation(route, ' by GET'), parameters: queryOf(route) } }),
  }
}

/** How a command gives a value, which JSON gives in its own way. */
const inCommands = [
  /; (?:several )?separated by commas(?:, or the option more than once)?$/,
  /; separated by commas, or the option more than once/,
  /; the option may be given more than once$/,
  /[;,] ?(?:or )?-(?: or nothing)? (?:is|reads|for)[^;,]*standard input[^;]*/,
  /; standard input if left out/,
  /^file with /,
  / with --[a-z-]+$/,
]

/** The meaning of an input in JSON. */
export const apiMeans = ({ means }: Pick<Inputs[string], 'means'>): string =>
  inCommands.reduce((text, part) => text.replace(part, ''), means).replace(/;$/, '')

const versioned = ({ action }: Pick<Offer, 'action'>): boolean => action.settings !== undefined && changes(action)

export const replyOf = ({ gives }: Offer['action']): Json => gives.is ?? schemaOf(gives.json)

const operation = ({ words, action }: Offer, by: string): Json => ({
  operationId: `${words}${by}`.replaceAll(' ', '-'),
  tags: [words.split(' ')[0]],
  summary: sentence(action.does),
  description: `Needs the permission \`${action.needs}\`.${action.forMerchants ? ' For users of one merchant too.' : ''}`,
  responses: {
    200: {
      description: 'Done.',
      ...(action.settings && { headers: { ETag: { description: 'the version of the settings', schema: { type: 'string' } } } }),
      content: action.gives.parts ? exported : { [json]: { schema: replyOf(action) } },
    },
    ...Object.fromEntries([400, 401, 403, 404, 409, 422].map((status) => [status, ref('responses/problem')])),
    ...(versioned({ action }) && { 412: ref('responses/problem'), 428: ref('responses/problem') }),
    default: ref('responses/problem'),
  },
})

const queryOf = ({ action }: Offer): Json[] =>
  Object.entries(action.takes).map(([name, input]) => ({
    name: jsonName(name),
    in: 'query',
    required: input.needed === true,
    description: apiMeans(input),
    schema: input.is.hint === '' ? { const: 'true' } : { type: 'string' },
  }))

const securitySchemes = { token: { type: 'http', scheme: 'bearer', description: 'made by `npx tollgate token add`' } }

const parameters = {
  idempotency_key: {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: "Within 24 hours only one of the token's requests with the same key is carried out; the others get its answer.",
    schema: { type: 'string', minLength: 1, maxLength: 128, pattern: '^[\\x21-\\x7e]+$' },
  },
  if_match: {
    name: 'If-Match',
    in: 'header',
    required: true,
    description: 'The version of the settings to change: the ETag of `show`, or of the last change.',
    schema: { type: 'string' },
  },
}

const responses = {
  problem: { description: 'Refused, or failed.', content: { 'application/problem+json': { schema: ref('schemas/problem') } } },
}

const problem = {
  type: 'object',
  description: 'a problem of RFC 9457',
  required: ['type', 'title', 'status', 'code', 'detail'],
  properties: {
    type: { type: 'string' },
    title: { type: 'string' },
    status: { type: 'integer' },
    code: { type: 'string', description: 'why, for programs' },
    detail: { type: 'string', description: 'why, for people' },
    field: { type: 'string', description: 'the member that is wrong' },
    permission: { type: 'string', description: 'the permission that the token lacks' },
    done: { type: 'object', description: 'what was done, if only a part could be done' },
    errorId: { type: 'string', description: 'also in the log' },
  },
}
