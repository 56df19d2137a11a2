import { InvalidArgumentError, type Command } from 'commander'
import { counted, spanText } from '../../../base/moments.ts'
import { keptFor } from '../../../card/forget-rows.ts'
import { forgetCards } from '../../../operator/persons/cards.ts'
import type { Terminal } from '../../terminal.ts'
import { atOffice } from '../installation.ts'
import { aSpan, jsonOption } from '../options.ts'

const { approved, unapproved } = keptFor

interface ForgetOptions {
  olderThan: number
  unapprovedAfter: number
  json?: true
}

export function addCardsCommands(program: Command, terminal: Terminal): void {
  const cards = program.command('cards').description('the card numbers of orders, which are kept sealed')
  cards
    .command('forget')
    .description('erases card numbers that no order needs any more')
    .option(
      '--older-than <span>',
      'of approved payments that ended so long ago, 30d or more',
      atLeast(approved.least),
      approved.usual,
    )
    .option(
      '--unapproved-after <span>',
      'of declined, filtered and failed ones, 1h or more',
      atLeast(unapproved.least),
      unapproved.usual,
    )
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
What is shown of a card stays: first and last digits, brand, card-hash-id. Captures, returns and voids need no number.
create-card-ref is refused for such a payment, unless it made its reference before; references have a number of their own.
The gateways do it each hour, as CARDS_FORGET of serve says. Where that is off, run it once a day, as a member of
tollgate_retention. It can be stopped and begun again.

Examples
  npx tollgate cards forget
  npx tollgate cards forget --older-than 90d --unapproved-after 1h`,
    )
    .action(forget.bind(undefined, terminal))
}

export const atLeast =
  (leastMs: number) =>
  (text: string): number => {
    const span = aSpan(text)
    if (span < leastMs) throw new InvalidArgumentError(`It is ${spanText(leastMs)} at least.`)
    return span
  }

async function forget(terminal: Terminal, { olderThan, unapprovedAfter, json }: ForgetOptions): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const now = office.clock.now()
      const cards = await forgetCards(office, { approvedBefore: now - olderThan, othersBefore: now - unapprovedAfter })
      if (json) return terminal.printJson({ cards })
      terminal.print(`${counted(cards, 'card number')} ${cards === 1 ? 'was' : 'were'} erased.`)
    },
    'admin',
  )
}
