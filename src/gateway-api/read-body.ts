import type { Turns } from '../base/turn.ts'
import { longestSpelling, type Pairs } from '../spec/field.ts'
import { formReader } from '../spec/form.ts'
import type { Received } from './stages.ts'

/** A longer name is refused, and not returned in the reply either. */
const longestName = 256

type Parts = Pick<Received, 'pairs' | 'merchantOrderId'>

/**
 * The pairs of a form, and the merchant's name of the order. Read before any check, because
 * refusals return the name too.
 */
export function readBody(
  turns: Turns,
  body: Buffer | undefined,
  contentType: string | string[] | undefined,
): Parts | Promise<Parts> {
  const isForm = body?.length === 0 || /^application\/x-www-form-urlencoded\s*(;|$)/i.test(String(contentType ?? ''))
  if (!body || !isForm) return {}
  const pairs = turns.run(formReader(body))
  return pairs instanceof Promise ? pairs.then(partsOf) : partsOf(pairs)
}

function partsOf(pairs: Pairs | undefined): Parts {
  if (!pairs) return {}
  for (const [name, value] of pairs) {
    if (name !== 'client_orderid' && name !== 'client-order-id') continue
    const merchantOrderId = value.slice(0, longestSpelling(longestName)).trim()
    if (merchantOrderId === '') continue
    return merchantOrderId.length > longestName ? { pairs } : { pairs, merchantOrderId }
  }
  return { pairs }
}
