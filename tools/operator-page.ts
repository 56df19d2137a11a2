/** The API of operators as a document. */
import { commandsReference } from './commands-page.ts'
import { jsonName } from '../src/entity/json.ts'
import type { Inputs } from '../src/operator/action.ts'
import { apiMeans, operatorOpenApi, replyOf } from '../src/operator-api/openapi.ts'
import { basePath } from '../src/operator-api/asking.ts'
import { offers, type Offer } from '../src/operator/offered.ts'
import { changes } from '../src/operator/permissions.ts'
import { apiVariables } from '../src/settings/operators.ts'
import { variablesTable } from '../src/settings/variables.ts'

const intro = `# The API of operators

Everything that [a command](commands.md) does for an installation, as JSON over HTTP, except what concerns files and
processes of its machine. How to start it: [install.md](../install.md#the-api-of-operators); users and tokens:
[operators.md](../operators.md).
The same as OpenAPI: [openapi-operator.json](openapi-operator.json).

## A request

\`POST ${basePath}/<subject>/<action>\` with a JSON object as its body; \`{}\` where nothing is said.

\`\`\`
curl https://operator.example${basePath}/endpoint/list \\
  -H 'Authorization: Bearer tollgate_…' -H 'Content-Type: application/json' -d '{"merchant": "shop"}'
\`\`\`

| | |
|---|---|
| \`Authorization\` | \`Bearer\` and a token. Without a valid one every path answers 401 |
| \`Content-Type\` | \`application/json\`, else 415 |
| \`Idempotency-Key\` | for actions that change something: [once](#once) |
| \`If-Match\` | for changes of settings: the \`ETag\` of \`show\`, or of the last change |

A body has at most 32 MiB; a file, such as a certificate, is a text in it. Ids are text in answers. In requests they are text, or
numbers up to 2^53; a larger number is refused, because JavaScript rounds it. Times are ISO 8601 in answers; in requests also
dates and spans such as \`2h\` (how long ago). Spans of settings are milliseconds. A member that the action does not take is
refused. \`null\` takes a setting away.

Lists that take \`limit\` and \`after\` come in pages: \`next\` of an answer is \`after\` of the next page, or null. An \`export\`
answers with all rows of a list as CSV or NDJSON (\`as\`), as they are read. If it cannot go on, the connection breaks off: one
that ended is whole.

GET with the same members as a query works where the table says so: where nothing changes, and nothing that is said could tell
of a person. A flag is \`true\`.

## Once

Of the requests of a token with one \`Idempotency-Key\` within 24 hours, one is carried out. The others get its answer, with
the header \`Idempotency-Replayed\`, or a refusal:

| Status | \`code\` | When |
|---|---|---|
| 409 | \`under way\` | it is not done yet: send the request again in a moment |
| 409 | \`outcome unknown\` | its process ended: see what became of it |
| 409 | \`shown once\` | it was done, and its answer had a secret |
| 422 | \`key used otherwise\` | the key came with another path, version or body, byte by byte |

A refusal did nothing: the same key may come again.

A change of settings is made on a version: without \`If-Match\` the answer is 428, and 412 if somebody else made a change since.

## An answer

200 with what the command prints as \`--json\`, or a problem (RFC 9457, \`application/problem+json\`):

| Status | When |
|---|---|
| 400, 413, 415 | the request cannot be read |
| 401 | no valid token; after too many from an address 429 |
| 403 | the role lacks the permission that \`permission\` names, or a user of one merchant asks for what concerns all |
| 404 | no such action, or nothing of that name. Another merchant's does not exist for users of one merchant |
| 405 | GET for an action that is asked for by POST |
| 409 | it does not go with what there is; \`code\` says why |
| 412, 428 | \`If-Match\` is stale, or missing |
| 422 | \`field\` is wrong, missing or unknown |
| 503 | the database or a key service cannot be reached, or there is too much to do. Try again later |
| 500 | a defect; \`errorId\` is in the log |
`

/** All that says what an operator can do: the commands, and the API as a page and for programs. */
export async function operatorFiles(): Promise<[name: string, text: string][]> {
  const routes = await offers()
  return [
    ['commands.md', await commandsReference()],
    ['operator.md', pageOf(routes)],
    ['openapi-operator.json', `${JSON.stringify(operatorOpenApi(routes), null, 2)}\n`],
  ]
}

function pageOf(routes: readonly Offer[]): string {
  const subjects = [...new Set(routes.map(({ words }) => words.split(' ')[0]!))]
  return `${intro}
${subjects.map((subject) => subjectText(subject, routes)).join('\n\n')}

## Environment of api

${variablesTable(apiVariables)}
`
}

function subjectText(subject: string, routes: readonly Offer[]): string {
  const own = routes.filter(({ words }) => words.split(' ')[0] === subject)
  return `## ${subject}\n\n${own.map((route) => routeText(route, own)).join('\n\n')}`
}

function routeText({ path, words, action, byGet }: Offer, own: readonly Offer[]): string {
  const takes = Object.entries(action.takes)
  // The settings of an entity stand with the first action that takes them.
  const first = own.find((one) => Object.values(one.action.takes).some(({ change }) => change))
  const shown = takes.filter(([, { change }]) => !change || first?.words === words)
  const facts = [
    `Needs \`${action.needs}\``,
    ...(byGet ? ['GET too'] : []),
    ...(changes(action) && action.settings ? ['`If-Match`'] : []),
    ...(action.forMerchants ? ['users of one merchant too'] : []),
  ]
  return [
    `### ${path}`,
    `${action.does.charAt(0).toUpperCase()}${action.does.slice(1)}. ${facts.join(' · ')}.`,
    ...(shown.length > 0 ? [`| | Type | Meaning |\n|---|---|---|\n${shown.map(memberRow).join('\n')}`] : []),
    ...givenText(action),
    ...(shown.length < takes.length ? [`And the settings of [${first!.path}](#${first!.path.replace('/', '')}).`] : []),
  ].join('\n\n')
}

const memberRow = ([name, input]: [string, Inputs[string]]): string =>
  `| \`${jsonName(name)}\`${input.needed || input.piped ? ', needed' : ''} | ${typeText(input.is.schema)} | ${apiMeans(input)} |`

/** The members of the answer that its schema names; of a list those of a row. */
function givenText(action: Offer['action']): string[] {
  if (action.gives.parts) return ['Gives the rows of the list as a text.']
  const reply = replyOf(action) as Schema
  const names = (of: Schema | undefined): string =>
    Object.entries(of?.properties ?? {})
      .map(([name, { type, items }]) => `\`${name}\`${type === 'array' && items?.properties ? ` (each ${names(items)})` : ''}`)
      .join(', ')
  const given = reply.type === 'array' ? `a list, each ${names(reply.items)}` : names(reply)
  return given === '' ? [] : [`Gives ${given}.`]
}

/** The type of a member in JSON, in words. */
function typeText(schema: Schema): string {
  const { type, enum: words, items, contentEncoding } = schema
  if (words) return words.map((word) => `\`${String(word)}\``).join(', ')
  if (type === 'array') return `list: ${typeText(items ?? {})}`
  if (Array.isArray(type)) return 'text or whole number'
  return contentEncoding ? 'text in base64' : (types[type ?? ''] ?? 'text')
}

interface Schema {
  type?: string | string[]
  enum?: unknown[]
  items?: Schema
  properties?: Record<string, Schema>
  contentEncoding?: string
}
const types: Record<string, string> = { integer: 'whole number', boolean: 'true or false', object: 'object' }
