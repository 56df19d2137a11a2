/** Markdown of the reference: a page for each operation. */
import { pathId, inWords, type Formula } from '../spec/gateway/control.ts'
import { operationRow, type Operation } from '../spec/gateway/operations.ts'
import { refusals } from '../spec/refusals.ts'
import { exampleFor, exampleKey } from './example.ts'
import { checkRows, laterRefusals, refusalText } from './refusal-rows.ts'
import { replyRows, requestRows } from './rows.ts'
import { hiddenKey } from './signing.ts'

/** The document with prose about an operation, below docs/. */
const chapters: Readonly<Record<ReturnType<typeof operationRow>['kind'], readonly (readonly [text: string, to: string])[]>> = {
  payment: [
    ['Sale', 'choices.md#sale'],
    ['Idempotency', 'choices.md#idempotency'],
    ['3-D Secure', 'three-d-secure.md'],
  ],
  rebill: [
    ['Recurrent payments', 'choices.md#recurrent-payments'],
    ['Idempotency', 'choices.md#idempotency'],
  ],
  follow: [
    ['Captures, returns and voids', 'choices.md#captures-returns-and-voids'],
    ['Idempotency', 'choices.md#idempotency'],
  ],
  reference: [['Card references', 'choices.md#card-references']],
  status: [
    ['Status', 'choices.md#status'],
    ['States', 'reference/states.md'],
  ],
  upload: [['3-D Secure', 'three-d-secure.md']],
}

const cell = (text: string): string => text.replaceAll('|', '\\|')

export const mdTable = <Row>(head: readonly string[], rows: readonly Row[], cells: (row: Row) => readonly string[]): string =>
  [head, head.map(() => '---'), ...rows.map(cells)].map((row) => `| ${row.map(cell).join(' | ')} |`).join('\n')

/** Paragraphs as a file. */
export const page = (...parts: string[]): string => `${parts.map(inLines).join('\n\n')}\n`

/** A paragraph in lines of at most 100 columns, code unbroken. Other blocks stay. */
export function inLines(part: string): string {
  if (/^([#|<]|```|- )|\n/.test(part)) return part
  const lines: string[] = []
  for (const word of part.match(/(?:`[^`]*`|\S)+/g) ?? []) {
    const longer = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && longer.length <= 100) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines.join('\n')
}

export const code = (text: string): string => `\`${text}\``

export const block = (...lines: string[]): string => ['```', ...lines, '```'].join('\n')

/** Sentences begin with a capital and end with a full stop. */
export const sentence = (text: string): string => `${text[0]!.toUpperCase()}${text.slice(1)}.`

export function operationPage(operation: Operation): string {
  const { path, means, note, kind, request, reply } = operationRow(operation)
  const links = chapters[kind].map(
    ([text, to]) => `[${text}](${to.startsWith('reference/') ? to.slice('reference/'.length) : `../${to}`})`,
  )
  return page(
    `# ${operation}`,
    [sentence(means), ...(note === undefined ? [] : [note]), `See also: ${links.join(', ')}.`].join(' '),
    block(`POST <base URL>${path}/<endpoint id>`, `POST <base URL>${path}/group/<group id>`),
    '## Request',
    mdTable(
      ['Name', 'Kind', 'Length', 'Need', 'Meaning'],
      requestRows(request),
      ({ name, alias, kind: of, length, need, means: what }) => [
        code(name) + (alias === undefined ? '' : ` or ${code(alias)}`),
        of,
        length,
        need,
        what,
      ],
    ),
    ...(hasIdempotencyKey(operation) ? [`A header \`Idempotency-Key\` of 1 to 128 visible ASCII characters ${keyMeaning}.`] : []),
    ...signing(operation),
    ...(samples[operation] === undefined ? [] : [samplesOf(samples[operation])]),
    '## Reply',
    mdTable(['Name', 'Meaning'], replyRows(reply), (row) => [code(row.name), row.means]),
    'Fields without a value are left out.',
    ...refused(operation),
  )
}

const samples: Partial<Record<Operation, string>> = {
  sale: 'sale',
  status: 'status',
  return: 'return',
  'create-card-ref': 'card-registration',
  'make-rebill-sale': 'recurrent',
}

/** The site puts files of examples/ here, in each language. */
export const samplesOf = (name: string): string => `## In your language\n\n<!-- samples: ${name} -->`

/** The effect of an `Idempotency-Key`, as the rest of a sentence about it. */
export const keyMeaning =
  'names the request. For 24 hours a repeat with this key (all fields equal, except control and cvv2) gets the reply of ' +
  'the first request, whatever its outcome. A different request of the merchant with this key, to any operation that ' +
  'moves money, is refused with code 11'

/** Clients can name requests that move money. */
export const hasIdempotencyKey = (operation: Operation): boolean =>
  ['payment', 'rebill', 'follow'].includes(operationRow(operation).kind)

function signing(operation: Operation): string[] {
  const { signed } = operationRow(operation)
  const example = exampleFor(operation)
  if (example.signed.is === 'OAuth')
    return [
      '## Signature',
      '[OAuth 1.0a](../choices.md#oauth) with RSA-SHA256; the parameters of OAuth go into the header. This is the base string ' +
        'of the example:',
      block(example.signed.baseString),
      'And this is the request. In place of `…` put the signature in Base64, percent-encoded.',
      block(`POST ${example.url}`, `Authorization: ${example.signed.authorization}`, '', ...wrapped(example.body)),
    ]
  const { parts, text, control } = example.signed
  return [
    '## String to sign',
    ...formulaLines(signed as Formula),
    '`control` is the SHA-1 of this string, in lower-case hexadecimal ([Checksums](../choices.md#checksums)). ' +
      `With the example key ${code(exampleKey)}:`,
    mdTable(['Part', 'Value'], parts, ({ name, value }) => [name === pathId ? name : code(name), code(value)]),
    block(text + hiddenKey, `control=${control}`),
    block(`POST ${example.url}`, ...wrapped(example.body)),
  ]
}

const formulaLines = (formula: Formula): string[] =>
  formula.map(({ parts, when, ofTheOrder }, i) => {
    const also = i > 0 && (ofTheOrder || when === undefined)
    const condition = [...(also ? ['also accepted'] : []), ...(when === undefined ? [] : [`if ${when}`])].join(' ')
    const rest = ofTheOrder ? ' with amount and currency of the order' : ''
    return (condition && `${sentence(condition).slice(0, -1)}: `) + code(inWords(parts)) + rest
  })

/** A one-line form is broken before `&` for readability. */
function wrapped(body: string): string[] {
  const lines: string[] = []
  for (const pair of body.split('&')) {
    const last = lines.at(-1)
    if (last !== undefined && last.length + pair.length < 120) lines[lines.length - 1] = `${last}&${pair}`
    else lines.push(last === undefined ? pair : `&${pair}`)
  }
  return lines
}

function refused(operation: Operation): string[] {
  const first =
    operationRow(operation).signed === 'OAuth'
      ? 'The signature is checked first: if it is wrong, the reply is HTTP 403 with a page that says ' +
        '*Access is denied*. Then the other checks'
      : 'The checks'
  return [
    '## Refusals',
    `${first} run in this order, and the first that fails decides the reply ` +
      '([reply](errors.md), [what to do](../errors.md#refusals)).',
    mdTable(['Check', 'Code'], checkRows(operation), ({ promise, codes }) => [promise, codes]),
    'After these checks the request can still be refused with:',
    mdTable(['Code', 'error-message'], laterRefusals(operation), (name) => [
      String(refusals[name].code),
      code(refusalText(name)),
    ]),
  ]
}
