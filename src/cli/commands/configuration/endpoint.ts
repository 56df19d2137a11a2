import { Option, type Command } from 'commander'
import { defined } from '../../../base/defined.ts'
import { loadRegistry } from '../../../merchant/rows.ts'
import { indicatorCodes, indicatorList } from '../../../operator/configuration/authentication-settings.ts'
import { readShownCommission } from '../../../operator/configuration/commission.ts'
import { endpointFacts, endpointJson } from '../../../operator/configuration/endpoint.ts'
import { descriptorMisfit, nameMisfit, type EndpointWish } from '../../../operator/configuration/settings.ts'
import { endpointOf, listEndpoints, merchantNamed } from '../../../operator/configuration/rows.ts'
import {
  addEndpoint,
  setEndpoint,
  setEndpointEnabled,
  type EndpointRules,
} from '../../../operator/configuration/endpoint-rows.ts'
import type { ChallengeIndicator } from '../../../spec/three-d-secure/kinds.ts'
import type { Terminal } from '../../terminal.ts'
import { endpointTable } from './endpoint-table.ts'
import {
  readAuthenticationPolicy,
  readMandatoryFields,
  readOperations,
  readOptionalFields,
  readRepeatWindow,
} from './endpoint-values.ts'
import { WrongUsage } from '../failure.ts'
import { addSwitches, verb } from '../entity.ts'
import { atOffice, type Office } from '../installation.ts'
import { aCurrency, anId, aSwitch, fitting, judged, jsonOption, someTexts } from '../options.ts'
import { facts } from '../present.ts'

type Settable = Omit<EndpointWish, 'challengeIndicator' | Removed> & { [K in Removed]?: string | false } & {
  name?: string
  gate?: string[]
  challengeIndicator?: ChallengeIndicator | 'none'
  mandatory?: string[]
  optional?: string[]
  repeatWindow?: number
  json?: true
}

/** What an option with `--no-` takes away. */
type Removed = 'callbackUrl' | 'merchantServerUrl' | 'descriptor'

/** What status and callbacks show only where an operator wants it. */
const shown = (command: Command): Command =>
  command
    .option(
      '--seller-commission <commission>',
      'shown in status and callback: minor units + hundredths of a per cent, such as 30+150; gate for that of the gate; or none',
      fitting(readShownCommission),
    )
    .option('--acquirer-commission <commission>', 'likewise, what the acquirer takes', fitting(readShownCommission))
    .option('--authentication-in-callback <on|off>', 'whether callbacks have eci and verified-3d-status (off)', aSwitch)

const settable = (command: Command): Command =>
  shown(command)
    .option('--name <name>', 'for people', judged(nameMisfit))
    .option('--gate <gates>', 'gates to acquirers by id or name, the preferred first, by comma or given several times', someTexts)
    .option('--three-d-secure <on|off>', 'whether cardholders are authenticated', aSwitch)
    .addOption(
      new Option('--challenge-indicator <code>', 'what 3-D Secure asks of the issuer, 01 to 09, or none').choices([
        ...indicatorCodes,
        'none',
      ]),
    )
    .option(
      '--authentication-policy <choices>',
      'what follows where 3-D Secure leaves the risk here, such as unavailable=authorise; or safe',
      fitting(readAuthenticationPolicy),
    )
    .option('--callback-url <url>', 'gets every outcome, besides the URLs of each request')
    .option('--no-callback-url', 'takes it away')
    .option('--merchant-server-url <url>', "the merchant's server, which the mobile API calls")
    .option('--no-merchant-server-url', 'takes it away')
    .option(
      '--without-method <on|off>',
      "whether the issuer is asked at once, without its method, where the sale has the browser's data (off)",
      aSwitch,
    )
    .option('--consumer-defined-rate <on|off>', 'whether the consumer of a transfer chooses a gate by its commission', aSwitch)
    .option('--random-sum <on|off>', 'whether a cardholder whom 3-D Secure does not ask names a small sum that was held', aSwitch)
    .option(
      '--mandatory <fields>',
      'fields that a payment must have here beyond the usual ones, by comma, such as phone,order.description; or none',
      fitting(readMandatoryFields),
    )
    .option(
      '--optional <fields>',
      'state: it may be left out of an address in US, CA or AU; or none',
      fitting(readOptionalFields),
    )
    .option('--descriptor <text>', "what the cardholder's statement says, in place of the gate's", judged(descriptorMisfit))
    .option('--no-descriptor', "takes it away: the gate's counts")
    .option('--operations <changes>', 'operations switched on or off, such as sale=off', fitting(readOperations))
    .addOption(
      new Option(
        '--control-minor-units <how>',
        "how amounts are spelled in checksums: by the currency's decimals, or always times a hundred",
      ).choices(['iso4217', 'hundredths']),
    )
    .option('--plain-http-callbacks <on|off>', 'whether callbacks may go by http', aSwitch)
    .option(
      '--amounts-above-signed <on|off>',
      'whether enumerate_amounts may have more than the amount, which alone is signed',
      aSwitch,
    )
    .option(
      '--parameter-signatures <on|off>',
      'whether signatures of v4 may cover the parameters alone, without the address (on)',
      aSwitch,
    )
    .option(
      '--card-numbers-in-text <on|off>',
      'whether descriptions, comments and merchant_data may have numbers of cards; never that of the payment itself',
      aSwitch,
    )
    .option(
      '--repeat-window <span>',
      'for so long after its approval an equal capture, return or void is a repeat, such as 10min; 0 for not at all',
      fitting(readRepeatWindow),
    )
    .option(...jsonOption)

/** Shown after the options, which have no room for it. */
const threeDSecureHelp = `
Challenge indicators (an issuer need not follow them; 2.1.0 knows 01 to 04)
${indicatorList()}

Authentication policy, each authorise or decline; what is not named stays
  attempted     the issuer attests an attempt (safe: authorise, the risk is the issuer's as a rule)
  unavailable   the issuer could not authenticate (safe: decline)
  not-enrolled  the card is in no range of a directory server (safe: decline)
  failed        no usable answer of directory server or issuer (safe: decline)`

export function addEndpointCommands(program: Command, terminal: Terminal): void {
  const endpoint = program.command('endpoint').description('where a merchant takes payments: currency, gate and rules')
  settable(
    endpoint
      .command('add')
      .description(
        'makes an endpoint; 3-D Secure, captures, returns and voids are off and every other operation on unless said otherwise',
      )
      .requiredOption('--merchant <login>', 'whose it is')
      .requiredOption('--currency <code>', 'of ISO 4217; it cannot be changed later', aCurrency),
  )
    .addHelpText(
      'after',
      `
Without --gate the only gate there is; without --name the currency in lower case.
${threeDSecureHelp}

Examples
  npx tollgate endpoint add --merchant shop --currency USD
  npx tollgate endpoint add --merchant shop --currency EUR --name euro --gate acme --callback-url https://shop.example/paid`,
    )
    .action(add.bind(undefined, terminal))
  verb(endpoint, 'list', 'all endpoints', 'endpoint list', 'endpoint list --merchant shop --json')
    .option('--merchant <login>', 'only of this merchant')
    .action(list.bind(undefined, terminal))
  verb(endpoint, 'show', 'one endpoint with all its settings', 'endpoint show 101')
    .argument('<id>', 'number of the endpoint', anId)
    .action(show.bind(undefined, terminal))
  settable(
    endpoint
      .command('set')
      .description('changes settings; what is not named stays as it is')
      .argument('<id>', 'number of the endpoint', anId),
  )
    .addHelpText(
      'after',
      `${threeDSecureHelp}

Examples
  npx tollgate endpoint set 101 --three-d-secure on --authentication-policy not-enrolled=authorise
  npx tollgate endpoint set 101 --callback-url https://shop.example/paid
  npx tollgate endpoint set 101 --mandatory phone,address1 --operations sale=off
  npx tollgate endpoint set 101 --no-callback-url --mandatory none --optional state`,
    )
    .action(set.bind(undefined, terminal))
  addSwitches(endpoint, terminal, {
    of: '<id>',
    means: 'number of the endpoint',
    read: anId,
    example: '101',
    disable: 'no new payments are taken; status is answered and callbacks go on',
    enable: 'new payments are taken again',
    async set(office, endpointId, enabled) {
      await setEndpointEnabled(office, endpointId, enabled)
      return { ids: { endpoint_id: endpointId }, name: `Endpoint ${endpointId}` }
    },
  })
}

function wishOf({ name: _name, gate: _gate, json: _json, mandatory, optional, repeatWindow, ...same }: Settable): EndpointWish {
  const { challengeIndicator, callbackUrl, merchantServerUrl, descriptor } = same
  return defined({
    ...same,
    challengeIndicator: challengeIndicator === 'none' ? null : challengeIndicator,
    callbackUrl: callbackUrl === false ? null : callbackUrl,
    merchantServerUrl: merchantServerUrl === false ? null : merchantServerUrl,
    descriptor: descriptor === false ? null : descriptor,
    mandatoryFields: mandatory,
    optionalFields: optional,
    repeatWindowMs: repeatWindow,
  })
}

const rulesOf = (office: Office): EndpointRules => ({
  policy: office.installation.callbackPolicy,
  registry: async () => loadRegistry(office.pool, await office.keys(), office.clock.now()),
})

async function add(terminal: Terminal, options: Settable & { merchant: string; currency: string }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const { merchant: login, currency, gate: gates = [] } = options
    const name = options.name ?? currency.toLowerCase()
    const made = await addEndpoint(office, { login, name, currency, gates, wish: wishOf(options) }, rulesOf(office))
    if (options.json) return terminal.printJson(endpointJson(made))
    terminal.print(`Endpoint ${made.endpointId} is made. Running gateways take payments for it within a second.`)
    terminal.print(`\n${facts(endpointFacts(made))}`)
    terminal.print(`\nIts path: /api/v2/sale/${made.endpointId}`)
  })
}

async function set(terminal: Terminal, endpointId: bigint, options: Settable): Promise<void> {
  const wish = wishOf(options)
  if (Object.keys(wish).length === 0 && options.name === undefined && options.gate === undefined)
    throw new WrongUsage('Nothing to set. See: npx tollgate endpoint set --help')
  await atOffice(terminal, async (office) => {
    const asked = defined({ wish, name: options.name, gates: options.gate })
    const after = await setEndpoint(office, endpointId, asked, rulesOf(office))
    if (options.json) return terminal.printJson(endpointJson(after))
    terminal.print(`Endpoint ${endpointId} is changed.\n\n${facts(endpointFacts(after))}`)
  })
}

async function list(terminal: Terminal, options: { merchant?: string; json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const of = options.merchant === undefined ? undefined : await merchantNamed(pool, options.merchant)
    const endpoints = (await listEndpoints(pool)).filter((e) => of === undefined || e.merchantId === of.merchantId)
    if (options.json) return terminal.printJson({ endpoints: endpoints.map(endpointJson) })
    if (endpoints.length === 0)
      return terminal.print(
        `No endpoints yet. Make one: npx tollgate endpoint add --merchant ${options.merchant ?? 'shop'} --currency USD`,
      )
    terminal.print(endpointTable(endpoints))
  })
}

async function show(terminal: Terminal, endpointId: bigint, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const endpoint = await endpointOf(pool, endpointId)
    if (options.json) return terminal.printJson(endpointJson(endpoint))
    terminal.print(`Endpoint ${endpointId}\n\n${facts(endpointFacts(endpoint))}`)
  })
}
