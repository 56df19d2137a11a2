import type { Command } from 'commander'
import { currencyOfNumeric, minorToDecimal } from '../../../base/money.ts'
import { unfit } from '../../../operator/refused.ts'
import type { Terminal } from '../../terminal.ts'
import { askAcquirer } from './acquirer-admin.ts'
import { aNumber, jsonOption, judged } from '../options.ts'
import { table, type Colour } from '../present.ts'

/** An entry of the simulated acquirer's books; only the fields that are shown. */
interface Entry {
  receivedAt: string
  kind: string
  state: 'approved' | 'declined' | 'reversed'
  /** First six and last four digits. */
  card: string
  amountMinor: string
  /** ISO 4217 numeric. */
  currency: string
  orderId: string
}

const sinceMs = 24 * 3_600_000
const colours: Readonly<Record<Entry['state'], Colour>> = { approved: 'green', declined: 'red', reversed: 'dim' }

/** What a cardholder's bank would show. */
export const addEntries = (acquirer: Command, terminal: Terminal): void =>
  void acquirer
    .command('entries')
    .description("the last entries of the acquirer's books: what a cardholder's bank would show, random sums among them")
    .option('--card <digits>', 'last four digits', judged(notLastFour))
    .option('--limit <number>', 'at most so many, the newest', aNumber(1, 1_000), 10)
    .option(...jsonOption)
    .addHelpText('after', '\nExamples\n  npx tollgate acquirer entries\n  npx tollgate acquirer entries --card 1111 --limit 1')
    .action(entries.bind(undefined, terminal))

const notLastFour = (text: string) => (/^[0-9]{4}$/.test(text) ? undefined : unfit('card', 'four digits, such as 1111'))

async function entries(terminal: Terminal, o: { card?: string; limit: number; json?: true }): Promise<void> {
  const asked = `/ledger?limit=1000000&since=${terminal.clock.now() - sinceMs}`
  const { entries: all } = (await askAcquirer(terminal, 'GET', asked)) as { entries: Entry[] }
  const found = all.filter(({ card }) => o.card === undefined || card.endsWith(o.card)).slice(-o.limit)
  if (o.json) return terminal.printJson({ entries: found })
  if (found.length === 0) return terminal.print('Nothing was asked of the acquirer within a day.')
  terminal.print(
    table(
      [
        { title: 'TIME', of: (e) => `${e.receivedAt.slice(11, 19)} UTC` },
        { title: 'CARD', of: (e) => e.card },
        { title: 'AMOUNT', of: amountOf, align: 'point' },
        { title: 'CURRENCY', of: (e) => currencyOfNumeric(e.currency)?.code ?? e.currency },
        { title: 'KIND', of: (e) => e.kind },
        { title: 'STATE', of: (e) => e.state, colour: (e) => colours[e.state] },
        { title: 'ORDER', of: (e) => e.orderId },
      ],
      found,
    ),
  )
}

const amountOf = ({ amountMinor, currency }: Entry): string =>
  minorToDecimal(BigInt(amountMinor), currencyOfNumeric(currency)?.exponent ?? 0)
