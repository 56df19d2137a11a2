import type { ServerResponse } from 'node:http'
import { honestCheck, openMerchantServer, textAt } from '../../conformance/mobile/mobile-merchant.ts'
import type { Behaviour, Invoice, Reply } from '../../conformance/mobile/mobile-merchant.ts'

/**
 * A merchant's server of the mobile API. It follows the text unless a test makes it lie, and knows
 * cards by their clientCardId.
 */

type Json = Record<string, unknown>
export interface Call {
  path: string
  body: Json
}
export interface Lie {
  status?: number
  body?: Json | string
  hang?: true
  /** Answers in its own way. */
  raw?: (response: ServerResponse) => void
}

export async function startMerchant() {
  const shop = await openMerchantServer()
  const prefix = new URL(shop.url).pathname
  const calls: Call[] = []
  /** serverCardId by clientCardId. */
  const cards = new Map<string, string>()
  const merchant = {
    url: shop.url,
    calls,
    cards,
    /** Changes an answer, or is one: what it returns is sent. */
    lie: undefined as ((path: string, answer: Json) => Lie) | undefined,
    add(invoice: Omit<Invoice, 'check' | 'notification'>): void {
      const answer = ({ path: whole, body: sent }: Parameters<Behaviour>[2], honest: Json): Reply => {
        const path = whole.slice(prefix.length)
        calls.push({ path, body: sent })
        const { status = 200, body = honest, hang, raw } = merchant.lie?.(path, honest) ?? {}
        if (hang) return 'hang'
        return raw ? { raw } : { status, body: typeof body === 'string' ? body : JSON.stringify(body) }
      }
      const check: Behaviour = (_honest, _earlier, call) => {
        const card = (of: string) => cards.get(textAt(call.body, `${of}.reference.clientCardId`))
        const named = { source: card('sourceOfFunds'), destination: card('destinationOfFunds') }
        return answer(call, honestCheck({ ...invoice, ...named }, call))
      }
      shop.add({ ...invoice, check, notification: (honest, _earlier, call) => answer(call, honest) })
    },
    close: () => shop.close(),
  }
  return merchant
}
