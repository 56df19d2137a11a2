import { InvalidArgumentError, type Command } from 'commander'
import { defined } from '../../../base/defined.ts'
import { secret } from '../../../base/secret.ts'
import {
  macAlgorithms,
  recurrentInitiators,
  recurrentScenarios,
  type GateRow,
  type MacAlgorithm,
} from '../../../merchant/merchant.ts'
import { readCommission } from '../../../operator/configuration/commission.ts'
import { gateFacts, gateJson, readCountry, usualGate } from '../../../operator/configuration/gate.ts'
import { spanText } from '../../../operator/moments.ts'
import { nameMisfit } from '../../../operator/configuration/settings.ts'
import { gateNamed, listGates } from '../../../operator/configuration/rows.ts'
import { addGate, isLineWish, setGate, setGateEnabled, type LineWish } from '../../../operator/configuration/gate-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { addSwitches, stateColumn, verb, type ForJson } from '../entity.ts'
import { atOffice } from '../installation.ts'
import { aNumber, aSpan, aSwitch, fileText, fitting, judged, jsonOption, oneOf } from '../options.ts'
import { facts, table } from '../present.ts'
import { optionOf } from '../refusals.ts'

/** The files are read when the command runs; the gateway needs none of them. */
interface LineOptions {
  tls?: boolean
  tlsCa?: string
  tlsCert?: string
  tlsKey?: string
  tlsName?: string
  mac?: MacAlgorithm | 'off'
  macKeyFile?: string
}

type Settings = Partial<Omit<GateRow, 'answerTimeoutMs' | 'countryNumeric' | 'commissionFixedMinor' | 'tls' | 'mac'>> &
  LineOptions & {
    answerTimeout?: number
    country?: string
    commissionFixed?: number
  }

const settings = (command: Command): Command =>
  command
    .option('--host <host>', 'host name or address of the acquirer')
    .option('--port <port>', 'its port', aNumber(1, 65_535))
    .option('--tls <on|off>', 'whether the line is encrypted; off forgets certificates and key (off)', aSwitch)
    .option('--tls-ca <file>', "authorities, in PEM, one of which has signed the acquirer's certificate")
    .option('--tls-name <name>', "the name in the acquirer's certificate (the host)")
    .option('--tls-cert <file>', 'certificate of this gateway, in PEM, for an acquirer who wants one; with --tls-key')
    .option('--tls-key <file>', 'its private key, in PEM without a passphrase; it is sealed and never shown')
    .option('--plain-line <on|off>', 'whether a line in clear may lead to a host that is not private (off)', aSwitch)
    .option(
      '--mac <algorithm>',
      `what authenticates the messages: ${macAlgorithms.join(', ')}, or off, which forgets the key (off)`,
      oneOf(...macAlgorithms, 'off'),
    )
    .option('--mac-key-file <file>', 'the key of the MAC in hexadecimal, - for standard input; it is sealed and never shown')
    .option('--terminal-id <id>', 'field 41, at most 8 characters')
    .option('--card-acceptor-id <id>', 'field 42: the merchant at the acquirer, at most 15 characters')
    .option('--card-acceptor-name <name>', 'field 43: name and place, at most 99 characters')
    .option('--acquirer-id <digits>', 'field 32, at most 11 digits')
    .option('--mcc <digits>', 'field 26: the merchant category code, four digits')
    .option('--country <code>', 'where the merchant is, two letters of ISO 3166-1; issuers get it by 3-D Secure (US)', aCountry)
    .option('--descriptor <text>', "what the cardholder's statement says")
    .option('--answer-timeout <span>', `how long an answer is waited for (${spanText(usualGate.answerTimeoutMs)})`, aSpan)
    .option('--partial-capture <on|off>', 'whether parts may be captured (on)', aSwitch)
    .option('--partial-reversal <on|off>', 'whether parts may be returned (on)', aSwitch)
    .option(
      '--recognises-repeats <on|off>',
      'whether the acquirer knows a repeat by STAN and RRN, so that a lost answer may be asked for again (off)',
      aSwitch,
    )
    .option(
      '--max-open <number>',
      `authorisations open at once, the last half in equal shares of the merchants; beyond, code 20 (${usualGate.maxOpen})`,
      aNumber(1, 100_000),
    )
    .option('--commission-fixed <minor>', 'what a transfer costs, in minor units of its currency (0)', aNumber(0, 1_000_000_000))
    .option(
      '--commission-basis-points <number>',
      'what it costs besides, in hundredths of a per cent of its amount (0)',
      aNumber(0, 10_000),
    )
    .option(
      '--seller-commission <commission>',
      'what a merchant pays for a payment, for endpoints that show it: minor units + hundredths of a per cent, such as 30+150',
      fitting(readCommission),
    )
    .option('--acquirer-commission <commission>', 'what the acquirer takes of it, likewise', fitting(readCommission))
    .option(
      '--recurrent-initiator <who>',
      'who asks for a recurrent payment whose request does not say: MERCHANT or CARDHOLDER (MERCHANT)',
      oneOf(...recurrentInitiators),
    )
    .option(
      '--recurrent-scenario <how>',
      'whether it comes regularly, where its request does not say: REGULAR or IRREGULAR (REGULAR)',
      oneOf(...recurrentScenarios),
    )
    .option(...jsonOption)

function aCountry(text: string): string {
  const numeric = readCountry(text)
  if (numeric === undefined) throw new InvalidArgumentError('It is not a country by two letters of ISO 3166-1, such as US or DE.')
  return numeric
}

export function addGateCommands(program: Command, terminal: Terminal): void {
  const gate = program.command('gate').description('lines to acquirers')
  settings(
    gate
      .command('add')
      .description('adds a gate')
      .requiredOption('--name <name>', 'for people, and to name it in commands', judged(nameMisfit)),
  )
    .addHelpText(
      'after',
      `
Host, port, terminal, card acceptor, acquirer and MCC are what your acquirer gave you, and all of them are needed.

Examples
  npx tollgate gate add --name acme --host acquirer.example --port 8583 --terminal-id SHOP0001 \\
    --card-acceptor-id 000000000012345 --card-acceptor-name "The Shop, Berlin" \\
    --acquirer-id 400001 --mcc 5999 --country DE --descriptor "THE SHOP"`,
    )
    .action(add.bind(undefined, terminal))
  verb(gate, 'list', 'all gates', 'gate list').addHelpText('before', '').action(list.bind(undefined, terminal))
  verb(gate, 'show <gate>', 'one gate with all its settings, by id or name', 'gate show acme').action(
    show.bind(undefined, terminal),
  )
  settings(gate.command('set <gate>').description('changes settings; what is not named stays as it is'))
    .addHelpText(
      'after',
      `
A changed gate gets a new line; what is under way on the old one is answered or reversed.

Examples
  npx tollgate gate set acme --answer-timeout 20s --max-open 500
  npx tollgate gate set acme --tls on --tls-ca acquirer-ca.pem --tls-cert acme.pem --tls-key acme.key
  npx tollgate gate set acme --mac aes-cmac --mac-key-file acme-mac.key`,
    )
    .action(set.bind(undefined, terminal))
  addSwitches(gate, terminal, {
    of: '<gate>',
    example: 'acme',
    disable: 'no payments go to it; endpoints use the next of their gates',
    enable: 'payments go to it again',
    async set(office, name: string, enabled) {
      const { gateId, name: called } = await setGateEnabled(office, name, enabled)
      return { ids: { gate_id: gateId }, name: `Gate ${gateId} (${called})` }
    },
  })
}

const mostPemBytes = 1_000_000
const mostKeyBytes = 1_000

/** What is wished of the gate, and of its line with the content of the files. */
async function wishesOf(terminal: Terminal, options: Settings): Promise<{ wish: Partial<GateRow>; line: LineWish }> {
  const { tls, tlsCa, tlsCert, tlsKey, tlsName, mac, macKeyFile, answerTimeout, country, commissionFixed, ...same } = options
  const read = async (file: string | undefined, option: string, mostBytes = mostPemBytes) =>
    file === undefined ? undefined : fileText(terminal, file, option, mostBytes)
  const files = { tlsCa: await read(tlsCa, '--tls-ca'), tlsCert: await read(tlsCert, '--tls-cert') }
  const key = await read(tlsKey, '--tls-key')
  const macKey = await read(macKeyFile, '--mac-key-file', mostKeyBytes)
  const keys = { tlsKey: key === undefined ? key : secret(key), macKeyFile: macKey === undefined ? macKey : secret(macKey) }
  return {
    wish: defined({ ...same, countryNumeric: country, answerTimeoutMs: answerTimeout, commissionFixedMinor: commissionFixed }),
    line: defined({ tls, tlsName, mac, ...files, ...keys }),
  }
}

const needed = ['host', 'port', 'terminalId', 'cardAcceptorId', 'cardAcceptorName', 'acquirerId', 'mcc', 'descriptor'] as const

async function add(terminal: Terminal, { name, json, ...options }: Settings & { name: string; json?: true }): Promise<void> {
  const { wish, line } = await wishesOf(terminal, options)
  const asked = { ...usualGate, ...wish }
  const missing = needed.filter((option) => asked[option] === undefined)
  if (missing.length > 0)
    throw new WrongUsage(`A gate needs ${missing.map(optionOf).join(', ')} as well. See: npx tollgate gate add --help`)
  await atOffice(terminal, async (office) => {
    const gateId = await addGate(office, name, asked as GateRow, line)
    if (json) return terminal.printJson(gateJson(await gateNamed(office.pool, String(gateId))))
    terminal.print(`Gate ${gateId} (${name}) is added. Whether it can be reached says: npx tollgate doctor`)
    terminal.print(`\nEndpoints use it by: npx tollgate endpoint add --gate ${gateId} …`)
  })
}

async function set(terminal: Terminal, name: string, { json, ...options }: Settings & { json?: true }): Promise<void> {
  const { wish, line } = await wishesOf(terminal, options)
  if (Object.keys(wish).length === 0 && !isLineWish(line))
    throw new WrongUsage('Nothing to set. See: npx tollgate gate set --help')
  await atOffice(terminal, async (office) => {
    const after = await setGate(office, name, wish, line)
    if (json) return terminal.printJson(gateJson(after))
    terminal.print(`Gate ${after.gateId} (${after.name}) is changed.\n\n${facts(gateFacts(after))}`)
  })
}

async function list(terminal: Terminal, options: ForJson): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const gates = await listGates(pool)
    if (options.json) return terminal.printJson({ gates: gates.map(gateJson) })
    if (gates.length === 0) return terminal.print('No gates yet. Add the first: npx tollgate gate add --help')
    terminal.print(
      table(
        [
          { title: 'ID', of: (g) => String(g.gateId), align: 'right' },
          { title: 'NAME', of: (g) => g.name },
          stateColumn,
          { title: 'ADDRESS', of: (g) => `${g.settings.host}:${g.settings.port}` },
          { title: 'LINE', of: ({ settings: s }) => `${s.tls ? 'TLS' : 'in clear'}${s.mac ? ', MAC' : ''}` },
          { title: 'TERMINAL', of: (g) => g.settings.terminalId },
          { title: 'TIMEOUT', of: (g) => spanText(g.settings.answerTimeoutMs), align: 'right' },
          { title: 'MAX OPEN', of: (g) => String(g.settings.maxOpen), align: 'right' },
          { title: 'DESCRIPTOR', of: (g) => g.settings.descriptor },
        ],
        gates,
      ),
    )
  })
}

async function show(terminal: Terminal, name: string, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const gate = await gateNamed(pool, name)
    if (options.json) return terminal.printJson(gateJson(gate))
    terminal.print(`Gate ${gate.gateId}\n\n${facts(gateFacts(gate))}`)
  })
}
