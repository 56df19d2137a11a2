import type { Turns } from '../base/turn.ts'
import { longestSpelling } from '../spec/field.ts'
import { formReader } from '../spec/form.ts'
import type { Received } from './stages.ts'

/** A longer name is refused, and not returned in the reply either. */
const longestName = 256

/**
 * The pairs of a form, and the merchant's name of the order. Read before any check, because
 * refusals return the name too.
 */
export async function readBody(
  turns: Turns,
  body: Buffer | undefined,
  contentType: string | string[] | undefined,
): Promise<Pick<Received, 'pairs' | 'merchantOrderId'>> {
  const isForm = body?.length === 0 || /^application\/x-www-form-urlencoded\s*(;|$)/i.test(String(contentType ?? ''))
  const pairs = body && isForm ? await turns.run(formReader(body)) : undefined
  if (!pairs) return {}
  const name = pairs
    .map(([n, value]) =>
      n === 'client_orderid' || n === 'client-order-id' ? value.slice(0, longestSpelling(longestName)).trim() : '',
    )
    .find((value) => value !== '')
  return name === undefined || name.length > longestName ? { pairs } : { pairs, merchantOrderId: name }
}
