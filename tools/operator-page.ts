/** The API of operators as a document. */
import { commandsReference } from './commands-page.ts'
import { jsonName } from '../src/entity/json.ts'
import type { Inputs } from '../src/operator/action.ts'
import { apiMeans, operatorOpenApi, replyOf } from '../src/operator-api/openapi.ts'
import { basePath } from '../src/operator-api/asking.ts'
import { offers, type Offer } from '../src/operator/offered.ts'
import { changes } from '../src/operator/permissions.ts'
import { inLines } from '../src/reference/markdown.ts'
import { apiVariables } from '../src/settings/operators.ts'
import { variablesTable } from '../src/settings/variables.ts'

const intro = `# The API of operators

With this API a program can do what [the commands](commands.md) do, by JSON over HTTP; left out are
the commands that work on files and processes of the gateway's machine. To start the API see
[install.md](../install.md#the-api-of-operators); for users and tokens see
[operators.md](../operators.md). The same reference as OpenAPI:
[openapi-operator.json](openapi-operator.json).

## A request

\`POST ${basePath}/<subject>/<action>\` with a JSON object as its body; \`{}\` if the action
needs no members.

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

A body has at most 32 MiB. The content of a file, such as a certificate, is sent as a text. Ids are
text in answers. In requests they are text, or numbers up to 2^53; a larger number is refused,
because JavaScript rounds it. Times are ISO 8601 in answers; requests also take dates, and spans
such as \`2h\` (how long ago). Spans of settings are in milliseconds. A member that the action does
not know is refused. \`null\` removes a setting.

Lists that take \`limit\` and \`after\` come in pages. To get the next page, send the \`next\` of the
answer as \`after\`; on the last page \`next\` is null. An \`export\` answers with all rows of a list
as CSV or NDJSON (\`as\`), while it reads them. If it fails, the connection breaks off: an export
that ends normally is complete.

Actions marked *GET too* also take GET, with the same members in the query: they change nothing, and
their members contain no personal data. In a query a flag is \`true\`.

## Once

Within 24 hours only one of a token's requests with the same \`Idempotency-Key\` is carried out. The
others get its answer, with the header \`Idempotency-Replayed\`, or a refusal:

| Status | \`code\` | When |
|---|---|---|
| 409 | \`under way\` | it is in progress: send the request again in a moment |
| 409 | \`outcome unknown\` | the process that carried it out ended: look whether the change was made |
| 409 | \`shown once\` | it was done; its answer had a secret, which is not shown again |
| 422 | \`key used otherwise\` | the key was used with another path, version or body; every byte counts |

A refused request did nothing: its key may be used again.

A change of settings names the version that it is based on. Without \`If-Match\` the answer is 428; if
another user has changed the settings since that version, it is 412.

## An answer

200 with the JSON that the command prints with \`--json\`, or a problem (RFC 9457,
\`application/problem+json\`):

| Status | When |
|---|---|
| 400, 413, 415 | the request cannot be read |
| 401 | no valid token; after too many from an address 429 |
| 403 | the role lacks the permission that \`permission\` names, or the action concerns all merchants and the user has only one |
| 404 | no such action, or no such merchant, order and so on. A user of one merchant does not see those of other merchants |
| 405 | GET for an action that takes POST |
| 409 | the request conflicts with the present state; \`code\` has the reason |
| 412, 428 | \`If-Match\` is stale, or missing |
| 422 | \`field\` is wrong, missing or unknown |
| 503 | the database or a key service cannot be reached, or is overloaded. Try again later |
| 500 | a defect; \`errorId\` is in the log |
`

/** The reference of operators: the commands, and the API as a page and as OpenAPI. */
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
    ...(action.forMerchants ? ['for users of one merchant too'] : []),
  ]
  return [
    `### ${path}`,
    inLines(`${action.does.charAt(0).toUpperCase()}${action.does.slice(1)}. ${facts.join(' · ')}.`),
    ...(shown.length > 0 ? [`| | Type | Meaning |\n|---|---|---|\n${shown.map(memberRow).join('\n')}`] : []),
    ...givenText(action),
    ...(shown.length < takes.length ? [`Also takes the settings of [${first!.path}](#${first!.path.replace('/', '')}).`] : []),
  ].join('\n\n')
}

const memberRow = ([name, input]: [string, Inputs[string]]): string =>
  `| \`${jsonName(name)}\`${input.needed || input.piped ? ', needed' : ''} | ${typeText(input.is.schema)} | ${apiMeans(input)} |`

/** The members of the answer that its schema names; of a list those of a row. */
function givenText(action: Offer['action']): string[] {
  if (action.gives.parts) return ['Returns the rows of the list as text.']
  const reply = replyOf(action) as Schema
  const names = (of: Schema | undefined): string =>
    Object.entries(of?.properties ?? {})
      .map(([name, { type, items }]) => `\`${name}\`${type === 'array' && items?.properties ? ` (each ${names(items)})` : ''}`)
      .join(', ')
  const given = reply.type === 'array' ? `a list, each ${names(reply.items)}` : names(reply)
  return given === '' ? [] : [inLines(`Returns ${given}.`)]
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
