import type { Command } from 'commander'
import { cardDigits } from '../../../base/luhn.ts'
import { secret } from '../../../base/secret.ts'
import { hashIdOfNumber } from '../../../card/vault.ts'
import type { Listed } from '../../../merchant/filter.ts'
import { readEntries } from '../../../operator/configuration/filter-settings.ts'
import { isMisfit } from '../../../operator/refused.ts'
import { merchantNamed } from '../../../operator/configuration/rows.ts'
import { orderWithLife } from '../../../operator/orders/order-rows.ts'
import type { Terminal } from '../../terminal.ts'
import { Failure, WrongUsage } from '../failure.ts'
import type { Office } from '../installation.ts'
import { fileText, someIds, someTexts } from '../options.ts'
import { failureOf } from '../refusals.ts'

/** Values to add to a list, or to remove from it. */
export interface FilterValues {
  value?: string[]
  file?: string
  cardOf?: bigint[]
}

export const valueOptions = (command: Command): Command =>
  command
    .option('--value <text>', 'what is listed; may be given more than once, or several by comma', someTexts)
    .option('--file <file>', 'one value a line, - is standard input; of a list of cards their numbers')
    .option('--card-of <order>', 'the card of that order; may be given more than once', someIds)

export function noValues(given: FilterValues, kind: string): Set<string> {
  if (Object.values(given).some((one) => one !== undefined))
    throw new WrongUsage(`A ${kind} filter has no list, so --value, --file and --card-of say nothing of it.`)
  return new Set()
}

/**
 * Values in comparable form. Card numbers are only accepted from a file, because typed arguments
 * appear in process lists and shell histories.
 */
export async function valuesOf(
  terminal: Terminal,
  office: Office,
  login: string,
  of: Listed,
  { value = [], file, cardOf = [] }: FilterValues,
): Promise<Set<string>> {
  const lines = file === undefined ? [] : linesOf(await fileText(terminal, file))
  if (of !== 'card' && cardOf.length > 0) throw new WrongUsage('--card-of is for lists of cards.')
  const listed = readEntries(of, of === 'card' ? [...value, ...(await cardHashes(office, login, lines))] : [...value, ...lines])
  if (isMisfit(listed)) throw failureOf(listed)
  for (const orderId of cardOf) listed.add(await cardHashOfOrder(office, login, orderId))
  return listed
}

async function cardHashes(office: Office, login: string, lines: readonly string[]): Promise<string[]> {
  if (lines.length === 0) return []
  const { merchantId } = await merchantNamed(office.pool, login)
  const keys = await office.keys()
  return lines.map((line, i) => {
    const digits = line.replace(/[ -]/g, '')
    // The line is not repeated: it may be almost a card number.
    if (!cardDigits.test(digits)) throw new WrongUsage(`Line ${i + 1} of the file is not the number of a card.`)
    return hashIdOfNumber(secret(digits), merchantId, keys)
  })
}

async function cardHashOfOrder(office: Office, login: string, orderId: bigint): Promise<string> {
  const { order } = await orderWithLife(office, orderId)
  if (order.merchantId !== (await merchantNamed(office.pool, login)).merchantId)
    throw new Failure(`Order ${orderId} is not of ${login}, and a card has another hash at each merchant.`)
  return order.card.hashId
}

const linesOf = (text: string): string[] =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '' && !line.startsWith('#'))
