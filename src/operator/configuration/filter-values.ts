/** Values of lists, as they are given to actions. */
import { cardDigits } from '../../base/luhn.ts'
import { secret } from '../../base/secret.ts'
import { hashIdOfNumber } from '../../card/vault.ts'
import { anyText, fileText, id, list } from '../../entity/kinds.ts'
import type { Listed } from '../../merchant/filter.ts'
import { entities } from '../../storage/pool.ts'
import type { Given } from '../action.ts'
import type { Office } from '../office.ts'
import { orRefused, Refused, unfit } from '../refused.ts'
import { readEntries } from './filter-settings.ts'
import { merchantNamed } from '../known.ts'
import { loginsIn, orderOf } from '../where.ts'

const mostBytes = 256 * 1024 * 1024

// oxfmt-ignore
export const valueInputs = {
  value:  { is: list(anyText('text'), 'text'), means: 'a value of the list; several separated by commas, or the option more than once' },
  file:   { is: fileText(mostBytes),  means: 'a file with one value a line (card numbers for a list of cards); - is standard input' },
  cardOf: { is: list(id, 'order'),    means: 'the card of that order; the option may be given more than once' },
} as const

export type ListValues = Given<typeof valueInputs>

export function refuseValues({ value, file, cardOf }: ListValues, kind: string): Set<string> {
  if ((value ?? file ?? cardOf) !== undefined) throw new Refused({ what: 'no list of this kind', kind })
  return new Set()
}

/**
 * Values in comparable form. Card numbers are only accepted from a file, because typed arguments
 * appear in process lists and shell histories.
 */
export async function valuesOf(
  office: Office,
  login: string,
  of: Listed,
  { value = [], file = '', cardOf = [] }: ListValues,
): Promise<Set<string>> {
  const lines = linesOf(file)
  if (of !== 'card' && cardOf.length > 0) throw new Refused(unfit('cardOf', 'left out: it applies to lists of cards only'))
  const more = of === 'card' ? await cardHashes(office, login, lines) : lines.map(({ text }) => text)
  const listed = orRefused(readEntries(of, [...value, ...more]))
  for (const orderId of cardOf) listed.add(await cardHashOfOrder(office, login, orderId))
  return listed
}

async function cardHashes(office: Office, login: string, lines: readonly Line[]): Promise<string[]> {
  if (lines.length === 0) return []
  const { merchantId } = await merchantNamed(office.pool, login)
  const keys = await office.keys()
  return lines.map(({ no, text }) => {
    const digits = text.replace(/[ -]/g, '')
    if (!cardDigits.test(digits)) throw new Refused({ what: 'no card in line', line: no })
    return hashIdOfNumber(secret(digits), merchantId, keys)
  })
}

async function cardHashOfOrder(office: Office, login: string, orderId: bigint): Promise<string> {
  const { cell, merchantId } = await orderOf(await office.cells(), await loginsIn(office.pool), orderId)
  if (merchantId !== (await merchantNamed(office.pool, login)).merchantId)
    throw new Refused({ what: 'card of another merchant', orderId, login })
  const [facts] = await cell.pool.run(cardHash, [merchantId, orderId])
  return facts!.cardHash
}
const cardHash = entities<{ cardHash: string }>(`select card_hash from order_facts where merchant_id = $1 and order_id = $2`)

interface Line {
  /** From 1 on, of the file. */
  no: number
  text: string
}

const linesOf = (content: string): Line[] =>
  content
    .split('\n')
    .map((line, at) => ({ no: at + 1, text: line.trim() }))
    .filter(({ text }) => text !== '' && !text.startsWith('#'))
