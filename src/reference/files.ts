/** Every file of docs/reference, by name. */
import { stages } from '../order/decide/view.ts'
import { machine } from '../order/decide/machine.ts'
import { statusOfState, type State } from '../order/decide/order.ts'
import { callbackFormula, inWords } from '../spec/gateway/control.ts'
import { callbackParams } from '../spec/gateway/callback.ts'
import { operationNames, operationRow } from '../spec/gateway/operations.ts'
import { refusalFields } from '../spec/gateway/reply.ts'
import { refusals } from '../spec/refusals.ts'
import { finalStatuses, kindWords, statusMeans, type Status } from '../spec/words.ts'
import { exampleBaseUrl, exampleKey, exampleMerchantUrl } from './example.ts'
import { code, mdTable, operationPage, page, samplesOf, sentence } from './markdown.ts'
import { mobileFiles } from './mobile-markdown.ts'
import { mobileOpenApi } from './mobile-openapi.ts'
import { openApi } from './openapi.ts'
import { refusalNames, refusalText } from './refusal-rows.ts'
import { replyRows } from './rows.ts'

const written =
  'Written by `npm run generate` from the rows of [`src/spec/`](../../src/spec/gateway/operations.ts); the tests compare.'

export const referenceFiles = (): ReadonlyMap<string, string> =>
  new Map([
    ['README.md', index()],
    ...operationNames.map((operation) => [`${operation}.md`, operationPage(operation)] as const),
    ['errors.md', errors()],
    ['callbacks.md', callbacks()],
    ['states.md', states()],
    ['openapi.json', json(openApi(exampleBaseUrl))],
    ...mobileFiles(),
    ['openapi-mobile.json', json(mobileOpenApi('service', exampleBaseUrl))],
    ['openapi-merchant-server.json', json(mobileOpenApi('merchant', exampleMerchantUrl))],
  ])

const json = (document: object): string => `${JSON.stringify(document, null, 2)}\n`

const index = (): string =>
  page(
    '# Reference of the gateway API',
    `${written} The reasons are in [choices.md](../choices.md).`,
    'Every operation is a POST of `application/x-www-form-urlencoded` in UTF-8. The reply is pairs of the same encoding, ' +
      'HTTP 200, `text/html;charset=utf-8`; with `Accept: application/vnd.pay+json` a JSON object of strings ' +
      '([Wire](../choices.md#wire)).',
    mdTable(['Operation', 'Path', 'What it does'], operationNames, (operation) => {
      const { path, means } = operationRow(operation)
      return [`[${operation}](${operation}.md)`, code(path), means]
    }),
    'The id of an endpoint follows the path, or `group/` and the id of a group.',
    mdTable(
      ['Besides', ''],
      [
        ['[Errors](errors.md)', 'every refusal, in the order of the checks'],
        ['[Callbacks](callbacks.md)', "what a merchant's server receives"],
        ['[States](states.md)', 'the states of an order'],
        ['[openapi.json](openapi.json)', 'everything as OpenAPI 3.1'],
        ['[Mobile API](mobile.md)', "what an app calls, and what a merchant's server answers"],
      ],
      (row) => row,
    ),
    `The examples are signed with the control key ${code(exampleKey)}, which is only an example. In the sandbox each ` +
      'operation can be tried at `/docs`, with the control computed; `npx tollgate sign` does it for any request.',
  )

const errors = (): string =>
  page(
    '# Errors',
    `${written} What to do about each, and the codes of declined payments: [errors.md](../errors.md).`,
    'A refusal of any operation has these fields:',
    mdTable(['Name', 'Meaning'], replyRows(refusalFields), ({ name, means }) => [code(name), means]),
    'The checks run in this order, and the first that fails is the reply. HTTP is the status with ' +
      '`Accept: application/vnd.pay+json`, and 200 in the form format.',
    mdTable(['Code', 'error-message', 'type', 'HTTP'], refusalNames, (name) => {
      const { code: number, type, http } = refusals[name]
      return [String(number), code(refusalText(name)), code(type), String(http)]
    }),
    'A v4 call with a wrong signature gets HTTP 403 in both formats, with an HTML page that says *Access is denied*.',
  )

const callbacks = (): string =>
  page(
    '# Callbacks',
    `${written} When they are sent, how often, and to which addresses: [Callbacks](../choices.md#callbacks).`,
    'A GET with these parameters appended to the query of the URL, or a POST form if the URL would be longer than 8,000 ' +
      'bytes. Answer with HTTP 200. The browser of a cardholder who returns from the hosted page posts the same pairs.',
    mdTable(['Name', 'Always', 'Meaning'], Object.entries(callbackParams), ([name, row]) => [
      code(name),
      'always' in row ? 'yes' : '',
      row.means,
    ]),
    `\`control\` is the SHA-1 of ${code(inWords(callbackFormula))}.`,
    samplesOf('callback'),
  )

const stageOf = (state: State): string => stages[state as keyof typeof stages] ?? state

const states = (): string => {
  const all = [...new Set(machine.flatMap(({ from, to }) => [from, to]))]
  return page(
    '# States',
    `${written} The promises of states: [States](../choices.md#states).`,
    mdTable(['status', 'Final', 'Meaning'], Object.entries(statusMeans), ([status, means]) => [
      code(status),
      finalStatuses.has(status as Status) ? 'yes' : 'no',
      means,
    ]),
    '## Transactions',
    'Each operation on an order is a separate transaction. `order-stage` is the prefix and a stage of the table below.',
    mdTable(['Transaction', 'transaction-type', 'type of the callback', 'Prefix'], Object.entries(kindWords), ([kind, words]) => [
      kind,
      code(words.transactionType),
      code(words.callbackType),
      code(words.stagePrefix),
    ]),
    '## Stages',
    mdTable(['Where it stands', 'Stage', 'status'], all, (state) => [state, code(stageOf(state)), code(statusOfState(state))]),
    "The gateway makes reversals itself; `status` and callbacks never show them as the order's transaction.",
    '## Moves',
    sentence('all possible moves; the database rejects any other'),
    mdTable(['From', 'On', 'To'], machine, ({ from, on, to }) => [from, on, to]),
  )
}
