import type { Chance } from '../world/chance.ts'
import { cards, configuration, secureCards, sumCards, transferEndpoints } from '../model/configuration.ts'
import type { Initiated } from './merchant-server-messages.ts'
import type { Mapped, MerchantServers } from './merchant-servers.ts'
import { destinations } from './transfers.ts'
import { cvv2s, payerOf, secureCvv2s, sumCvv2s } from './wants.ts'

/** A request of an app to perform its invoice. Every repeat has the same body. */
export interface Performed {
  invoice: Initiated
  body: object
  cvv2: string | undefined
  /** The gateway must not charge an altered invoice, nor a card that another payer mapped. */
  isWrong?: 'altered' | 'payer'
}

interface RequestParts {
  chance: Chance
  servers: MerchantServers
}

/** Usually a card of this merchant, if it has one. */
function mappedCard({ chance, servers }: RequestParts, merchantId: bigint, of: Mapped['of']): string | undefined {
  const all = servers.mapped.filter((m) => m.of === of)
  const own = all.filter((m) => m.merchantId === merchantId)
  if (own.length > 0 && chance.happens(0.4)) return chance.pick(own).clientCardId
  return all.length > 0 && chance.happens(0.05) ? chance.pick(all).clientCardId : undefined
}

/** Has a merchant's server initiate an invoice, with a new nonce unless one is given. */
export function initiated(parts: RequestParts, number: number, endpointId: bigint, nonce?: string): Initiated {
  const { chance, servers } = parts
  const { merchantId } = configuration.endpoint(endpointId)!
  const isTransfer = transferEndpoints.some((id) => id === endpointId)
  const clientCardId = mappedCard(parts, merchantId, 'source')
  const toClientCardId = isTransfer ? mappedCard(parts, merchantId, 'destination') : undefined
  const isSale = clientCardId !== undefined || chance.happens(0.7)
  const kind = isTransfer ? 'transfer' : isSale ? 'sale' : 'verification'
  return servers.initiate(
    {
      merchantId,
      endpointId,
      kind,
      invoiceId: `invoice-${number}`,
      serialNumber: `device ${chance.whole(1, 9)}`,
      ...(kind === 'verification' ? {} : { amountCentis: chance.whole(100, 90_000) }),
      ...(clientCardId === undefined ? {} : { clientCardId }),
      ...(toClientCardId === undefined ? {} : { toClientCardId }),
    },
    nonce,
  )
}

export function performed({ chance }: RequestParts, invoice: Initiated): Performed {
  const { kind, merchantId, endpointId, clientCardId, accessToken, nonce, signature, serialNumber } = invoice
  const isAltered = chance.happens(0.03)
  const isElse = clientCardId !== undefined && chance.happens(0.1)
  const card = cardAt(endpointId, chance)
  const reference = { clientCardId, securityCode: chance.happens(0.3) ? '123' : undefined }
  const amountCentis = invoice.amountCentis === undefined ? {} : { amountCentis: invoice.amountCentis - (isAltered ? 1 : 0) }
  const body = {
    consumer: {
      device: { serialNumber },
      email: isElse ? 'somebody@else.test' : payerOf(merchantId),
      ipAddresses: [chance.pick(['192.0.2.4', '192.0.2.5'])],
    },
    session: { accessToken, nonce, signature: isAltered ? signature.replace(/^./, (c) => (c === '0' ? '1' : '0')) : signature },
    ...(kind === 'verification'
      ? { sourceCard: card }
      : { sourceOfFunds: clientCardId === undefined ? { card } : { reference } }),
    ...(kind === 'transfer' ? { destinationOfFunds: destinationOf(invoice, chance) } : {}),
    transaction: { ...amountCentis, currency: 'USD' },
  }
  const { securityCode: cvv2 } = clientCardId === undefined ? card : reference
  const performs = { invoice, body, cvv2 }
  if (isAltered) return { ...performs, isWrong: 'altered' }
  return isElse ? { ...performs, isWrong: 'payer' } : performs
}

function cardAt(endpointId: bigint, chance: Chance) {
  const { threeDSecure, randomSum } = configuration.endpoint(endpointId)!.settings
  return {
    number: chance.pick(randomSum ? sumCards : threeDSecure ? secureCards : cards),
    expiry: { month: 12, year: chance.happens(0.02) ? 2025 : 2031 },
    securityCode: chance.pick(randomSum ? sumCvv2s : threeDSecure ? secureCvv2s : cvv2s),
    holder: { printedName: 'A BUYER' },
  }
}

function destinationOf({ toClientCardId }: Initiated, chance: Chance) {
  if (toClientCardId !== undefined) return { reference: { clientCardId: toClientCardId } }
  const { well, refused, silent } = destinations
  return { card: { number: chance.pick([well, well, well, refused, silent]) } }
}
