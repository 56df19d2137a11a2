import type { Command } from 'commander'
import { pageFacts, colourMisfit, mostLogoBytes, pageJson } from '../../../operator/configuration/merchant-page.ts'
import { nameMisfit } from '../../../operator/configuration/settings.ts'
import { setMerchantPage } from '../../../operator/configuration/merchant-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { WrongUsage } from '../failure.ts'
import { atOffice } from '../installation.ts'
import { fileBytes, judged, jsonOption } from '../options.ts'
import { facts } from '../present.ts'

type Options = Record<'pageName' | 'colour' | 'logo', string | false | undefined> & { json?: true }

export const addMerchantSetCommand = (merchant: Command, terminal: Terminal): Command =>
  merchant
    .command('set <login>')
    .description('what cardholders see of a merchant on hosted pages and receipts')
    .option('--page-name <name>', "in place of the merchant's name", judged(nameMisfit))
    .option('--no-page-name', 'takes it away')
    .option('--colour <colour>', 'of lines, links and buttons, such as 0a7d55', judged(colourMisfit))
    .option('--no-colour', 'takes it away')
    .option('--logo <file>', 'a PNG, JPEG or WebP of at most 32 KiB, 16 to 1024 pixels wide and high; - is standard input')
    .option('--no-logo', 'takes it away')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
The colour is shown as it is, with black or white text on it. Links have it where it can be read, in the light or in the
dark, and else are black or white.

Examples
  npx tollgate merchant set shop --page-name "The Shop" --logo logo.png --colour 0a7d55
  npx tollgate merchant set shop --no-logo`,
    )
    .action(set.bind(undefined, terminal))

async function set(terminal: Terminal, login: string, { pageName, colour, logo, json }: Options): Promise<void> {
  if ((pageName ?? colour ?? logo) === undefined) throw new WrongUsage('Nothing to set. See: npx tollgate merchant set --help')
  const wish = {
    ...(pageName !== undefined && { pageName: pageName || null }),
    ...(colour !== undefined && { colour: colour ? `#${colour.replace('#', '').toLowerCase()}` : null }),
    ...(logo !== undefined && { logo: logo ? await fileBytes(terminal, logo, '--logo', mostLogoBytes) : null }),
  }
  await atOffice(terminal, async (office) => {
    const page = await setMerchantPage(office, login, wish)
    if (json) return terminal.printJson({ login, page: pageJson(page) })
    terminal.print(`Running gateways show this of merchant ${login} within a second.\n\n${facts(pageFacts(page))}`)
  })
}
