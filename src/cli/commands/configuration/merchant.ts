import type { Command } from 'commander'
import { secret, type Secret } from '../../../base/secret.ts'
import { keyComplaint, newControlKey, servesMobile } from '../../../operator/configuration/control-key.ts'
import { endpointJson } from '../../../operator/configuration/endpoint.ts'
import { keyJson, merchantFacts, merchantJson } from '../../../operator/configuration/merchant.ts'
import { agoText, counted, isoTime, spanText, timeText } from '../../../operator/moments.ts'
import { loginMisfit, nameMisfit } from '../../../operator/configuration/settings.ts'
import {
  listEndpoints,
  listGroups,
  listMerchants,
  merchantNamed,
  type MerchantEntry,
} from '../../../operator/configuration/rows.ts'
import { listMerchantKeys } from '../../../operator/configuration/merchant-key-rows.ts'
import { addMerchant, rotateKey, setMerchantEnabled } from '../../../operator/configuration/merchant-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { endpointTable } from './endpoint-table.ts'
import { WrongUsage } from '../failure.ts'
import { groupTable } from './group.ts'
import { addSwitches, stateColumn, verb, type ForJson } from '../entity.ts'
import { atOffice, type Office } from '../installation.ts'
import { addMerchantCheckCommand } from '../programs/merchant-check.ts'
import { addMerchantKeyCommands } from './merchant-key.ts'
import { addMerchantMoveCommand } from '../cells/merchant-move.ts'
import { addMerchantSetCommand } from './merchant-set.ts'
import { mostCell } from '../../../storage/cells.ts'
import { aNumber, aSpan, judged, jsonOption } from '../options.ts'
import { facts, table } from '../present.ts'
import { addSigningCommands } from './signing-secret.ts'

const keyHelp = 'the control key to use instead of a new one; - reads it from standard input'
const keyRules = `
Control keys
  Without --control-key an upper-case UUID is made, which serves the gateway API and the mobile API.
  A key given by hand has 16 to 128 printable characters for the gateway API; for the mobile API it must be 32 hexadecimal
  digits (dashes do not count).
  A key on the command line can be read by other users of this machine: give - and write it to standard input.`

export function addMerchantCommands(program: Command, terminal: Terminal): void {
  const merchant = program.command('merchant').description('merchants, their control keys and their servers')
  merchant
    .command('add')
    .description('registers a merchant and prints its control key, this once')
    .requiredOption('--login <login>', 'what the merchant signs in with, at most 20 characters', judged(loginMisfit))
    .option('--name <name>', 'for people; the login if left out', judged(nameMisfit))
    .option('--control-key <key>', keyHelp)
    .option('--cell <number>', 'where its orders are to be', aNumber(0, mostCell), 0)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `${keyRules}

Examples
  npx tollgate merchant add --login shop --name "The Shop"
  npx tollgate merchant add --login shop --control-key - < key.txt`,
    )
    .action(add.bind(undefined, terminal))
  verb(merchant, 'list', 'all merchants', 'merchant list', 'merchant list --json').action(list.bind(undefined, terminal))
  merchant
    .command('show <login>')
    .description('one merchant with its endpoints and groups')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Control keys are never shown again; a lost one is replaced by merchant rotate-key.

Examples
  npx tollgate merchant show shop`,
    )
    .action(show.bind(undefined, terminal))
  addMerchantSetCommand(merchant, terminal)
  addRotation(merchant, terminal)
  addMerchantMoveCommand(merchant, terminal)
  addSwitches(merchant, terminal, {
    of: '<login>',
    example: 'shop',
    disable: 'no new payments are taken for any of its endpoints; status is answered and callbacks go on',
    enable: 'payments are taken again',
    saysEffect: true,
    async set(office, login: string, enabled) {
      await setMerchantEnabled(office, login, enabled)
      return { ids: { login }, name: `Merchant ${login}` }
    },
  })
  addMerchantKeyCommands(merchant, terminal)
  addSigningCommands(merchant, terminal)
  addMerchantCheckCommand(merchant, terminal)
}

const addRotation = (merchant: Command, terminal: Terminal) =>
  merchant
    .command('rotate-key <login>')
    .description('gives a merchant a new control key; the old one is accepted for a while')
    .option('--control-key <key>', keyHelp)
    .option('--keep-old <span>', 'how long the key in use is accepted beside the new one; 0 ends it at once', aSpan, 86_400_000)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `${keyRules}

Only one old key is kept: of two rotations within the span the first key ends with the second.

Examples
  npx tollgate merchant rotate-key shop
  npx tollgate merchant rotate-key shop --keep-old 7d
  npx tollgate merchant rotate-key shop --keep-old 0     the old key was stolen`,
    )
    .action(rotate.bind(undefined, terminal))

async function add(
  terminal: Terminal,
  options: { login: string; name?: string; controlKey?: string; cell: number; json?: true },
): Promise<void> {
  await atOffice(terminal, async (office) => {
    const given = await keyGiven(terminal, options.controlKey, office)
    const controlKey = given ?? newControlKey(office.random)
    const wish = { login: options.login, name: options.name ?? options.login, cellNo: options.cell, controlKey }
    const merchantId = await addMerchant(office, await office.keys(), wish)
    if (options.json)
      return terminal.printJson({ merchant_id: merchantId, login: wish.login, name: wish.name, control_key: controlKey.reveal() })
    terminal.print(`Merchant ${wish.login} is registered.\n`)
    terminal.print(
      facts([
        ['Login', wish.login],
        ['Control key', controlKey.reveal()],
      ]),
    )
    terminal.print(
      `
${onceNote(given)}${mobileNote(controlKey)}
Next, an endpoint: npx tollgate endpoint add --merchant ${wish.login} --currency USD`,
    )
  })
}

async function rotate(
  terminal: Terminal,
  login: string,
  options: { controlKey?: string; keepOld: number; json?: true },
): Promise<void> {
  await atOffice(terminal, async (office) => {
    const given = await keyGiven(terminal, options.controlKey, office)
    const controlKey = given ?? newControlKey(office.random)
    const until = await rotateKey(office, await office.keys(), login, controlKey, options.keepOld)
    const kept = options.keepOld > 0
    if (options.json)
      return terminal.printJson({ login, control_key: controlKey.reveal(), previous_key_until: kept ? isoTime(until) : null })
    terminal.print(`Merchant ${login} has a new control key.\n`)
    terminal.print(
      facts([
        ['Control key', controlKey.reveal()],
        [
          'The old one',
          kept ? `is accepted until ${timeText(until)} UTC (${spanText(options.keepOld)})` : 'is accepted no longer',
        ],
      ]),
    )
    terminal.print(`\n${onceNote(given)}${mobileNote(controlKey)}Callbacks are signed with the new key from now on.`)
    if (office.installation.sandbox?.login === login)
      terminal.print("sandbox.json and the sandbox's merchant server have it after the next start of the sandbox.")
  })
}

const onceNote = (given: Secret<string> | undefined) => (given ? '' : 'Write the key down: it is not shown again.\n')
const mobileNote = (key: Secret<string>) =>
  servesMobile(key) ? '' : 'The mobile API cannot use this key, which is not 32 hexadecimal digits.\n'

async function keyGiven(
  terminal: Terminal,
  option: string | undefined,
  { installation }: Office,
): Promise<Secret<string> | undefined> {
  if (option === undefined) return undefined
  const key = secret(option === '-' ? await terminal.readInput() : option)
  const complaint = await keyComplaint(key, installation.sandbox ? 'sandbox' : 'production')
  if (complaint !== undefined) throw new WrongUsage(`--control-key: ${complaint}. Leave it out to have one made.`)
  return key
}

async function list(terminal: Terminal, options: ForJson): Promise<void> {
  await atOffice(terminal, async ({ pool, clock }) => {
    const [merchants, endpoints] = await Promise.all([listMerchants(pool), listEndpoints(pool)])
    if (options.json) return terminal.printJson({ merchants: merchants.map(merchantJson) })
    if (merchants.length === 0)
      return terminal.print('No merchants yet. Register the first: npx tollgate merchant add --login shop')
    const now = clock.now()
    const endpointsOf = (m: MerchantEntry) => {
      const own = endpoints.filter((e) => e.merchantId === m.merchantId)
      return own.map((e) => `${e.endpointId} ${e.currency}`).join(', ') || 'none'
    }
    terminal.print(
      table(
        [
          { title: 'LOGIN', of: (m) => m.login },
          { title: 'NAME', of: (m) => m.name },
          stateColumn,
          { title: 'ENDPOINTS', of: endpointsOf },
          { title: 'SINCE', of: (m) => agoText(m.createdAt, now) },
        ],
        merchants,
      ),
    )
  })
}

async function show(terminal: Terminal, login: string, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool, clock }) => {
    const merchant = await merchantNamed(pool, login)
    const endpoints = (await listEndpoints(pool)).filter((e) => e.merchantId === merchant.merchantId)
    const groups = (await listGroups(pool)).filter((g) => g.merchantId === merchant.merchantId)
    const keys = (await listMerchantKeys(pool, merchant.merchantId)).filter((key) => key.retiredAt === undefined)
    if (options.json)
      return terminal.printJson({
        ...merchantJson(merchant),
        public_keys: keys.map(keyJson),
        endpoints: endpoints.map(endpointJson),
        groups: groups.map((g) => ({ group_id: g.groupId, name: g.name, enabled: g.enabled, endpoint_ids: g.endpointIds })),
      })
    terminal.print(`Merchant ${merchant.login}\n`)
    terminal.print(facts(merchantFacts(merchant, keys, clock.now())))
    terminal.print(`\n${counted(endpoints.length, 'endpoint')}\n`)
    terminal.print(
      endpoints.length === 0
        ? `None yet: npx tollgate endpoint add --merchant ${login} --currency USD`
        : endpointTable(endpoints),
    )
    if (groups.length > 0) terminal.print(`\n${counted(groups.length, 'group')}\n\n${groupTable(groups)}`)
  })
}
