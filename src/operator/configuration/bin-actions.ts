/** The BIN table: who issued a card, by its first digits. */
import { binTableOf, readBins } from '../../card/bins.ts'
import { loadBins, replaceBins } from '../../card/bin-rows.ts'
import { fileText, text } from '../../entity/kinds.ts'
import { action, type Actions } from '../action.ts'
import { change } from '../change.ts'
import type { Office } from '../office.ts'
import { orUnknown, Refused } from '../refused.ts'

const mostBytes = 256 * 1024 * 1024
const digits = text('digits', /^[1-9][0-9]{3,10}$/, '4 to 11 digits')

/** Returns the number of ranges. */
async function importBins(office: Office, { csv }: { csv: string }): Promise<number> {
  const ranges = readBins(csv)
  if (typeof ranges === 'string') throw new Refused({ what: 'unusable BIN table', why: ranges })
  return change(office, 'config', async (runner) => {
    await replaceBins(runner, ranges)
    return { note: { subject: 'BIN table', details: { ranges: ranges.length } }, of: undefined, result: ranges.length }
  })
}

export const binActions: Actions = {
  'bin import': action({
    does: 'replaces the table by a new one, all or nothing',
    needs: 'configure',
    takes: { csv: { is: fileText(mostBytes), argument: true, needed: true, means: 'the table as CSV; - is standard input' } },
    perform: importBins,
    gives: {
      json: (ranges) => ({ ranges }),
      blocks: (ranges) => [`The BIN table has ${ranges.toLocaleString('en')} ${ranges === 1 ? 'range' : 'ranges'} now.`],
    },
    more: `A heading names the columns: first and last (4 to 11 digits; last may be left out), country (two or three letters of
ISO 3166-1), bank; only first is needed. Other columns are ignored. Where ranges overlap, the narrowest counts.
Separated by comma, semicolon or tab, in UTF-8 or UTF-16, as spreadsheets save it. Running gateways use the new table
within a second.

  first,last,country,bank
  400000,400099,US,"First Bank, Invented"
  52000000,52000000,DE,`,
    examples: ['bin import bins.csv'],
  }),
  'bin find': action({
    does: 'shows what the table contains about cards with these first digits',
    needs: 'read',
    takes: { digits: { is: digits, argument: true, needed: true, means: 'the first 4 to 11 digits of a card number' } },
    perform: async ({ pool }, asked) => orUnknown(binTableOf(await loadBins(pool))(asked.digits), 'BIN', asked.digits),
    gives: {
      json: ({ country = null, bank = null }, asked) => ({ bin: asked.digits, country, bank }),
      blocks({ country = 'unknown', bank = 'unknown' }, { asked }) {
        return [{ facts: Object.entries({ BIN: asked.digits, Country: country, Bank: bank }) }]
      },
    },
    examples: ['bin find 400000'],
  }),
}
