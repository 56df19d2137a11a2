import { InvalidArgumentError, type Command } from 'commander'
import { defined } from '../../../base/defined.ts'
import { cardDigits, checkDigitHolds } from '../../../base/luhn.ts'
import { decimalToMinor, knownCurrency } from '../../../base/money.ts'
import { secret, type Secret } from '../../../base/secret.ts'
import { comparable, refusingScore } from '../../../merchant/filter.ts'
import { firedJson } from '../../../operator/configuration/filter.ts'
import { tryFilters } from '../../../operator/configuration/filter-trial.ts'
import { endpointOf } from '../../../operator/configuration/rows.ts'
import type { Fired } from '../../../risk/screening.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { atOffice } from '../installation.ts'
import { anId, aMoment, jsonOption } from '../options.ts'
import { paint, table } from '../present.ts'

interface TrialOptions {
  endpoint: bigint
  card: Secret<string> | '-'
  amount: string
  email: string
  ip: string
  phone?: string
  country?: string
  purpose?: string
  at?: number
  json?: true
}

export function addFilterTrial(filter: Command, terminal: Terminal): void {
  filter
    .command('test')
    .description('what the filters would say of a payment; nothing is counted, and nothing is charged')
    .requiredOption('--endpoint <id>', 'that it comes to', anId)
    .requiredOption('--card <number>', 'its number; - reads it from standard input, which a real number should come by', aCard)
    .option('--amount <amount>', "in the endpoint's currency", '10.00')
    .option('--email <address>', "the customer's", 'customer@example.com')
    .option('--ip <address>', "the customer's", '198.51.100.7')
    .option('--phone <number>', "the customer's")
    .option('--country <code>', 'of the address, two letters', aCountry)
    .option('--purpose <text>', 'what is paid for')
    .option('--at <time>', 'when it comes (now)', aMoment(terminal.clock))
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Ends with 0 whether it would be filtered or not.

Examples
  npx tollgate filter test --endpoint 101 --card 4111111111111111 --country FR --amount 250.00
  npx tollgate filter test --endpoint 101 --card - --email eve@example.com < number.txt`,
    )
    .action(test.bind(undefined, terminal))
}

function aCard(text: string): Secret<string> | '-' {
  if (text === '-') return text
  const digits = text.replace(/[ -]/g, '')
  if (!cardDigits.test(digits) || !checkDigitHolds(digits)) throw new InvalidArgumentError('It is not the number of a card.')
  return secret(digits)
}

function aCountry(text: string): string {
  const code = comparable('country', text)
  if (code === undefined) throw new InvalidArgumentError('It is not a country by two letters.')
  return code
}

async function test(terminal: Terminal, options: TrialOptions): Promise<void> {
  const given = options.card === '-' ? aCard(await terminal.readInput()) : options.card
  if (given === '-') throw new WrongUsage('Standard input has no number of a card.')
  await atOffice(terminal, async (office) => {
    const { currency } = await endpointOf(office.pool, options.endpoint)
    const amountMinor = decimalToMinor(options.amount, knownCurrency(currency).exponent)
    if (amountMinor === undefined) throw new WrongUsage(`--amount ${options.amount} is no amount of ${currency}.`)
    const { endpoint: endpointId, email, ip, phone, country, purpose, at = terminal.clock.now() } = options
    const result = await tryFilters(office, await office.keys(), {
      endpointId,
      card: given,
      email,
      ip,
      amountMinor,
      at,
      ...defined({ phone, country, purpose }),
    })
    if (options.json)
      return terminal.printJson({
        filtered: result.refusal !== undefined,
        score: result.score,
        error_code: result.refusal?.code ?? null,
        error_message: result.refusal?.message ?? null,
        rules: result.rules.length,
        fired: result.fired.map(firedJson),
      })
    const verdict = result.refusal
      ? paint(`It would be filtered: ${result.refusal.code} ${result.refusal.message}.`, 'red')
      : paint('It would pass.', 'green')
    terminal.print(
      `${verdict} Score ${result.score} of ${refusingScore}, ${result.fired.length} of ${result.rules.length} filters fired.`,
    )
    if (result.fired.length > 0) terminal.print(`\n${firedTable(result.fired)}`)
  })
}

export const firedTable = (fired: readonly Fired[]): string =>
  table<Fired>(
    [
      { title: 'No', of: (f) => String(f.filterNo), align: 'right' },
      { title: 'Score', of: (f) => String(f.score), align: 'right' },
      { title: 'Code', of: (f) => f.code },
      { title: 'Filter', of: (f) => f.name },
      { title: 'Found', of: (f) => f.found },
    ],
    fired,
  )
