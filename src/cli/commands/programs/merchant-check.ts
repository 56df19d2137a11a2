import { Failure, WrongUsage } from '../failure.ts'
import { readFileSync } from 'node:fs'
import { InvalidArgumentError, type Command } from 'commander'
import { uuid } from '../../../base/random.ts'
import { secret, type Secret } from '../../../base/secret.ts'
import { loadRegistry } from '../../../merchant/rows.ts'
import { servesMobile } from '../../../operator/configuration/control-key.ts'
import { counted } from '../../../base/moments.ts'
import { checkMerchant, type CheckFinding } from '../../../merchant-check/cases.ts'
import { callerOf } from '../../../merchant-check/wire.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice, findInstallation } from '../installation.ts'
import { aCurrency, jsonOption } from '../options.ts'
import { table } from '../present.ts'

interface Options {
  login?: string
  file?: string
  endpoint?: string
  currency: string
  accessToken?: string
  device?: string
  json?: true
}

/** The account of the server's merchant: its key, and the endpoints that it may name. */
interface Account {
  key: Secret<string>
  knowsEndpoint?: (endpointId: string) => boolean
}

export function addMerchantCheckCommand(merchant: Command, terminal: Terminal): void {
  merchant
    .command('check')
    .description("plays app and gateway against a merchant's server of the mobile API, and says what conforms")
    .argument('<url>', 'base URL of the server, as an endpoint is given it', aBase)
    .option('--login <login>', "the merchant, whose control key the installation has; the sandbox's own if left out")
    .option('--file <file>', 'instead a JSON file with control_key, such as the one of MERCHANT_SERVER_CONFIG')
    .option('--endpoint <id>', 'the endpoint that the server has to name')
    .option('--currency <code>', 'of the transactions', aCurrency, 'USD')
    .option('--access-token <token>', 'of a consumer, where the server has a log-in of its own')
    .option('--device <serial>', 'serial number of the device that the token belongs to; made up if left out')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
It initiates each kind of transaction twice, checks it and tells the server of a card: right, again, and wrong in every way.
The server keeps what comes of that: six invoices and a card of a server card id that no gateway gives.
Nothing is charged, and the gateway has no part in it. It ends with 1 when something does not conform.
The server is called as the gateway would: at addresses that it allows, no redirects, 10 s each.

Examples
  npx tollgate merchant check https://shop.example/mobile --login shop
  npx tollgate merchant check http://127.0.0.1:8090 --file mobile.json --json`,
    )
    .action(check.bind(undefined, terminal))
}

async function check(terminal: Terminal, base: string, options: Options): Promise<void> {
  if (options.file !== undefined && options.login !== undefined)
    throw new WrongUsage('--file and --login both name a control key. Leave one out.')
  const { key, knowsEndpoint } = options.file === undefined ? await ofInstallation(terminal, options.login) : inFile(options.file)
  if (!servesMobile(key))
    throw new Failure('The control key is not 32 hexadecimal digits, dashes not counted: the mobile API takes no other.')
  // It takes a tenth of a second to load, which the other commands need not spend.
  const { openOutgoing } = await import('../../../http/outgoing.ts')
  const outgoing = openOutgoing({ policy: { plainHttp: true, loopbackAnyPort: true }, clock: terminal.clock })
  const { currency, accessToken, device, endpoint } = options
  let findings: CheckFinding[]
  try {
    findings = await checkMerchant({
      call: callerOf(outgoing, base),
      key,
      currency,
      knowsEndpoint: endpoint === undefined ? knowsEndpoint : (id) => id === endpoint,
      accessToken,
      serialNumber: device ?? `check-${uuid(terminal.random)}`,
      random: terminal.random,
    })
  } finally {
    await outgoing.close()
  }
  const wrong = findings.filter((one) => one.complaint !== undefined)
  if (options.json) terminal.printJson({ url: base, conforms: wrong.length === 0, findings: findings.map(findingJson) })
  else terminal.print(`${table(columns, findings)}\n\n${summary(findings.length, wrong.length)}`)
  if (wrong.length > 0) terminal.exitCode = 1
}

const resultOf = ({ complaint }: CheckFinding) => (complaint === undefined ? 'ok' : 'wrong')

const columns = [
  { title: 'CALL', of: (one: CheckFinding) => one.call },
  {
    title: 'RESULT',
    of: resultOf,
    went: (one: CheckFinding) => (one.complaint === undefined ? ('well' as const) : ('badly' as const)),
  },
  { title: 'WHAT', of: (one: CheckFinding) => (one.complaint === undefined ? one.promise : `${one.promise}: ${one.complaint}`) },
]

const findingJson = (one: CheckFinding) => ({
  call: one.call,
  promise: one.promise,
  conforms: one.complaint === undefined,
  ...(one.complaint !== undefined && { complaint: one.complaint }),
})

const summary = (all: number, wrong: number): string =>
  wrong === 0
    ? `All ${counted(all, 'promise')} kept.`
    : `${wrong} of ${counted(all, 'promise')} not kept.${all === 1 ? withoutToken : ''}`
const withoutToken = ' Without an access token nothing more can be tried: --access-token gives one.'

/** Without a trailing slash. */
function aBase(text: string): string {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol) || /[?#]/.test(text))
    throw new InvalidArgumentError('It is not a base URL, such as https://shop.example/mobile.')
  return text.replace(/\/+$/, '')
}

function inFile(name: string): Account {
  let json: unknown
  try {
    json = JSON.parse(readFileSync(name, 'utf8'))
  } catch (error) {
    const isMissing = error instanceof Error && 'code' in error
    throw new WrongUsage(`--file: ${name} ${isMissing ? 'cannot be read' : 'is not JSON'}.`, {
      cause: isMissing ? error : undefined,
    })
  }
  const { control_key: key, endpoints } = Object(json) as { control_key?: unknown; endpoints?: unknown }
  if (typeof key !== 'string' || key === '') throw new WrongUsage(`--file: ${name} has no control_key.`)
  if (endpoints === undefined) return { key: secret(key) }
  const ids = new Set(
    Object.values(Object(endpoints) as object).flatMap((one: unknown) =>
      typeof one === 'object' && one !== null ? Object.values(one).map(String) : [String(one)],
    ),
  )
  return { key: secret(key), knowsEndpoint: (id) => ids.has(id) }
}

async function ofInstallation(terminal: Terminal, named: string | undefined): Promise<Account> {
  const login = named ?? findInstallation(terminal.env).sandbox?.login
  if (login === undefined)
    throw new WrongUsage('Whose server is it? Name the merchant by --login, or a file with control_key by --file.')
  let found: Account | undefined
  await atOffice(terminal, async ({ pool, keys, clock }) => {
    const registry = await loadRegistry(pool, await keys(), clock.now())
    const merchant = registry.merchantByLogin(login)
    if (!merchant) throw new Failure(`There is no merchant ${login}.`)
    const isOwn = (id: string) =>
      /^[1-9][0-9]{0,17}$/.test(id) && [false, true].some((group) => registry.entry(BigInt(id), group)?.merchant === merchant)
    found = { key: merchant.controlKeys[0]!, knowsEndpoint: isOwn }
  })
  return found!
}
