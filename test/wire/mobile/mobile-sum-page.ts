import assert from 'node:assert/strict'
import type { Client } from 'pg'
import { ledger, send, type Fields } from '../../conformance/requests/client.ts'
import { until } from '../../harness/clock/until.ts'
import type { World } from '../../harness/world/world.ts'
import type { App, Begun, Json } from './mobile-app.ts'

/** A cardholder at the page that asks for the sum, and what database and acquirer know of it. */

/** An invoice whose hold is approved: the page is there. */
export interface Asked {
  one: Begun
  token: string
  url: string
  holdId: string
  sum: string
}

interface InvoiceRow extends Json {
  state: string
  order_id: string
  hold_order_id: string | null
  sum_minor: string
  wrong_answers: number
}

export function openSumPage(world: World, app: App, database: Client) {
  async function asked(one: Begun): Promise<Asked> {
    const token = await app.accepted(one)
    const seen = await app.ended(one, token)
    assert.equal(seen.state, 'REDIRECT_REQUEST', JSON.stringify(seen))
    const url = seen.redirectUrl as string
    assert.ok(url.length <= 128)
    const { hold_order_id: holdId, sum_minor: minor } = await rowOf(one)
    return { one, token, url, holdId: String(holdId), sum: (Number(minor) / 100).toFixed(2) }
  }

  async function rowOf({ invoiceId }: Begun): Promise<InvoiceRow> {
    const { rows } = await database.query<InvoiceRow>('select * from mobile_invoice where invoice_id = $1', [invoiceId])
    return rows[0]!
  }

  const page = async (url: string): Promise<string> => (await send('GET', url)).body

  async function answer(url: string, sum: string, answerNo: number) {
    const body = new URLSearchParams({ sum, answer: String(answerNo) })
    const { status: httpStatus, headers } = await fetch(url, { method: 'POST', body, redirect: 'manual' })
    return { httpStatus, location: headers.get('location') }
  }

  const wrong = ({ url, sum }: Asked, answerNo: number) => answer(url, sum === '9.99' ? '1.00' : '9.99', answerNo)

  async function final({ one, token }: Asked): Promise<Json> {
    const isFinal = ({ body }: { body: Json }) => body.state === 'APPROVED' || body.state === 'DECLINED'
    const seen = await until(() => app.status(one, token), isFinal, 120_000)
    assert.ok(isFinal(seen), `invoice ${one.invoiceId} ends: ${JSON.stringify(seen.body)}`)
    return seen.body
  }

  /** The acquirer's entries of the hold once it is released. */
  async function released({ holdId }: Asked): Promise<Fields[]> {
    const isReleased = (entries: Fields[]) => entries.length > 0 && entries.every(({ state }) => state === 'reversed')
    const entries = await until(() => ledger(world, holdId), isReleased, 60_000)
    assert.ok(isReleased(entries), `the hold ${holdId} is reversed: ${JSON.stringify(entries)}`)
    return entries
  }

  return { asked, rowOf, page, answer, wrong, final, released }
}
