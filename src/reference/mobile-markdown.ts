/** Markdown of the mobile API: a page for each operation of either side, and one for all. */
import { refusalBody } from '../spec/mobile/answers.ts'
import {
  mobileOperationNames,
  mobileRow,
  refusalNamesInvoice,
  type MobileOperation,
  type MobileOperationRow,
  type MobileTable,
} from '../spec/mobile/operations.ts'
import { exampleKey } from './example.ts'
import { block, code, mdTable, page, sentence } from './markdown.ts'
import { choiceText, mobileExample, mobileRows, type SignedExample } from './mobile-rows.ts'

export const mobileFiles = (): [name: string, text: string][] => [
  ['mobile.md', index()],
  ...mobileOperationNames.map((operation): [string, string] => [fileOf(operation), operationPage(operation)]),
]

const fileOf = (operation: MobileOperation): string => `mobile-${operation}.md`

/** The base address of the path. */
const rootOf = ({ side }: MobileOperationRow): string =>
  side === 'service' ? '<base URL>' : "<address of the merchant's server>"

const callerOf = ({ caller }: MobileOperationRow): string =>
  caller === 'app' ? "the merchant's app calls it" : 'the service calls it'

function index(): string {
  const listed = (wanted: (row: MobileOperationRow) => boolean) =>
    mdTable(
      ['Operation', 'Path', 'What it does'],
      mobileOperationNames.filter((operation) => wanted(mobileRow(operation))),
      (operation) => {
        const { path, means } = mobileRow(operation)
        return [`[${operation}](${fileOf(operation)})`, code(path), means]
      },
    )
  return page(
    '# Reference of the mobile API',
    'Written by `npm run generate` from the rows of [`src/spec/mobile/`](../../src/spec/mobile/operations.ts); ' +
      'the tests compare. The order of the calls is in [mobile-api.md](../mobile-api.md).',
    'A request is a POST of a JSON object; its answer is one too, with HTTP 200. Null and an empty text count as absent, ' +
      'and members that are not listed are ignored.',
    '## The service',
    "The merchant's app calls, below the base URL:",
    listed(({ side }) => side === 'service'),
    "## The merchant's server",
    'Its app calls:',
    listed(({ side, caller }) => side === 'merchant' && caller === 'app'),
    'and the service calls:',
    listed(({ caller }) => caller === 'service'),
    '## Refusals',
    'HTTP from 400 on, and this body:',
    rowsTable(refusalBody),
    "`invoiceId` stands beside `error`, except if a merchant's server refuses its app. For the service a status from 400 " +
      "on is the merchant's refusal, and a status from 500 on is a failure, after which it asks again.",
    '## Signatures',
    'HMAC-SHA1 over the values that the page of an operation names, without separators, as upper-case hexadecimal; ' +
      'lower case is accepted too. The key is the control key without its dashes, read as 32 hexadecimal digits. ' +
      `The examples are signed with ${code(exampleKey)}, which is only an example.`,
    `As OpenAPI 3.1: [the service](openapi-mobile.json), [the merchant's server](openapi-merchant-server.json).`,
  )
}

const rowsTable = (table: MobileTable): string =>
  mdTable(['Path', 'What it is', 'Need', 'Meaning'], mobileRows(table), ({ path, must, need, means }) => [
    code(path),
    must,
    need,
    means,
  ])

const json = (value: object): string => JSON.stringify(value, null, 2)

function operationPage(operation: MobileOperation): string {
  const row = mobileRow(operation)
  const { method, path, means, request, choices = [], answer, refusals } = row
  const example = mobileExample(operation)
  return page(
    `# ${operation}`,
    `${sentence(means)} ${sentence(callerOf(row))} More: [mobile-api.md](../mobile-api.md).`,
    block(`${method} ${rootOf(row)}${path}`),
    '## Request',
    ...(method === 'POST' ? [] : ['With GET in the query, with POST as JSON.']),
    rowsTable(request),
    ...(choices.length > 0 ? [choices.map((choice) => choiceText(choice, code)).join(' ')] : []),
    ...(example.carries ? signature('carried by the request', example.carries) : []),
    block(`POST ${example.url}`, '', ...json(example.request).split('\n')),
    '## Answer',
    rowsTable(answer),
    ...(example.answers ? signature('made for the answer', example.answers) : []),
    block(...json(example.answer).split('\n')),
    '## Refusals',
    mdTable(['error.cause', 'HTTP', 'When'], refusals, ({ cause, http, when }) => [code(cause), String(http), when]),
    refusalNamesInvoice(row)
      ? 'The [body](mobile.md#refusals) names the invoice.'
      : 'The [body](mobile.md#refusals) has `error` alone.',
  )
}

const partText = ({ path, optional }: SignedExample['parts'][number]): string =>
  `${code(path)}${optional ? ' (where there is one)' : ''}`

const signature = (how: string, { at, parts, text, signature: made }: SignedExample): string[] => [
  `${code(at)}, ${how}, is signed over ${parts.map(partText).join(', ')}. In the example this is`,
  block(text, made),
]
