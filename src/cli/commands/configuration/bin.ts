import { verb } from '../entity.ts'
import { Failure } from '../failure.ts'
import type { Command } from 'commander'
import { binTableOf } from '../../../card/bins.ts'
import { loadBins } from '../../../card/bin-rows.ts'
import { unfit } from '../../../operator/refused.ts'
import { importBins } from '../../../operator/configuration/bin-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice } from '../installation.ts'
import { fileText, jsonOption, judged } from '../options.ts'
import { facts } from '../present.ts'

export function addBinCommands(program: Command, terminal: Terminal): void {
  const bin = program.command('bin').description('the BIN table: who issued a card, by its first digits')
  bin
    .command('import <csv>')
    .description('puts a new table in the place of the old one, all or nothing; - is standard input')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
A heading names the columns: first and last (4 to 11 digits; last may be left out), country (two or three letters of
ISO 3166-1), bank; only first is needed. Other columns are passed over. Of ranges within ranges the narrowest counts. Comma,
semicolon or tab, UTF-8 or UTF-16: as spreadsheets save it. Running gateways have the new table within a second.

  first,last,country,bank
  400000,400099,US,"First Bank, Invented"
  52000000,52000000,DE,

Examples
  npx tollgate bin import bins.csv
  gunzip -c bins.csv.gz | npx tollgate bin import -`,
    )
    .action(importTable.bind(undefined, terminal))
  verb(bin, 'find', 'what the table says of cards that begin so', 'bin find 400000')
    .argument('<digits>', 'the first 4 to 11 digits of a card number', judged(notAPrefix))
    .action(find.bind(undefined, terminal))
}

const notAPrefix = (text: string) => (/^[1-9][0-9]{3,10}$/.test(text) ? undefined : unfit('digits', '4 to 11 digits'))

async function importTable(terminal: Terminal, file: string, options: { json?: true }): Promise<void> {
  const csv = await fileText(terminal, file, '<csv>')
  await atOffice(terminal, async (office) => {
    const ranges = await importBins(office, csv)
    if (options.json) return terminal.printJson({ ranges })
    terminal.print(`The BIN table has ${ranges.toLocaleString('en')} ${ranges === 1 ? 'range' : 'ranges'} now.`)
  })
}

async function find(terminal: Terminal, digits: string, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async ({ pool }) => {
    const issuer = binTableOf(await loadBins(pool))(digits)
    if (options.json) return terminal.printJson({ bin: digits, country: issuer?.country ?? null, bank: issuer?.bank ?? null })
    if (!issuer) throw new Failure(`The table has no range with ${digits}.`)
    const { country = 'unknown', bank = 'unknown' } = issuer
    terminal.print(facts(Object.entries({ BIN: digits, Country: country, Bank: bank })))
  })
}
