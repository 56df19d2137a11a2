import { isRandomSum, statusOf, type Order } from '../src/order/order.ts'
import { placeKey } from '../src/order/change.ts'
import { finalStatuses } from '../src/spec/words.ts'
import type { Performed, Said } from './apps.ts'
import type { Breaks } from './invariant.ts'
import { invoiceKey, type InvoiceRow } from './invoices.ts'
import type { Initiated, MerchantServers, Notified } from './merchant-servers.ts'
import type { StoreModel } from './store-model.ts'
import type { SumInvariants } from './sum-invariants.ts'
import type { TransferInvariants } from './transfer-invariants.ts'

/** Watches the invoices of the mobile API, from the app's first request to what its merchant's server is told. */
export interface MobileInvariants {
  sums: SumInvariants
  performed(performed: Performed, said: Said): void
  status(invoice: Initiated, said: Said, isOwner: boolean): void
  choosing(invoice: Initiated, assignedId: string): void
  chosen(invoice: Initiated, assignedId: string, said: Said): void
  /** A merchant's server is asked about an invoice, under this token. */
  checked(invoice: Initiated, token: string): void
  notified(told: Notified): void
  written(after: InvoiceRow, before: InvoiceRow | undefined): void
  committed(order: Order, before: Order | undefined): void
  settled(wall: number): void
}

/** A notification that is due waits this long at the most, as callbacks do. */
const slackMs = 150_000
const maxMappingTries = 15

/** A merchant's server hears of a card unless it named it itself. */
const cardsDueOf = ({ kind, clientCardId, toClientCardId }: Initiated) => ({
  source: clientCardId === undefined,
  destination: kind === 'transfer' && toClientCardId === undefined,
})

/** An order that tells that nothing was asked of anybody, so that it can be called back about. */
const isRefused = (order: Order) =>
  order.request.mobile?.refusal !== undefined && statusOf(order) === 'declined' && order.attempts.length === 0

const isEnded = ({ invoice }: InvoiceRow) => invoice.state === 'ordered' || invoice.state === 'declined'
const finalStates: ReadonlySet<string> = new Set(['APPROVED', 'DECLINED'])

export function watchMobile(
  model: StoreModel,
  servers: MerchantServers,
  transfers: TransferInvariants,
  sums: SumInvariants,
  breaks: Breaks,
): MobileInvariants {
  const tokens = new Map<string, string>()
  /** Final states that apps were told. */
  const told = new Map<string, string>()
  const orderOf = (row: InvoiceRow): Order | undefined => model.orders.get(placeKey(row.invoice))
  const rowOf = (place: { merchantId: bigint; invoiceId: string }) => model.invoices.rows.get(invoiceKey(place))

  function sameToken({ merchantId, invoiceId }: Initiated, token: string, where: string) {
    const key = invoiceKey({ merchantId, invoiceId })
    if ((tokens.get(key) ?? token) !== token)
      breaks('the same request has the same answer', `invoice ${invoiceId} has two tokens, the second in ${where}`)
    tokens.set(key, token)
  }

  /** What is wrong with an order for this invoice, as its merchant's server confirmed it. */
  function faultOf(
    order: Order,
    { invoiceId, endpointId, amountCentis = 0, clientCardId, toClientCardId }: Initiated,
  ): string | undefined {
    const said = servers.confirmed.get(invoiceId)
    const row = rowOf({ merchantId: order.merchantId, invoiceId })
    if (!said) return 'its merchant did not confirm it'
    if (said.token !== row?.invoice.sessionToken) return 'what its merchant confirmed has another token'
    if (order.endpointId !== endpointId || order.amountMinor !== BigInt(amountCentis)) return `it is for ${order.amountMinor}`
    if ((clientCardId === undefined) === (order.request.recurrent !== undefined)) return 'it pays with another kind of card'
    const { merchantId } = order
    if (clientCardId !== undefined && !model.references.find(merchantId, BigInt(said.source ?? 0)))
      return 'it pays with a card that is not of this merchant'
    if (toClientCardId !== undefined && !model.references.findDestination(merchantId, BigInt(said.destination ?? 0)))
      return 'it credits a card that is not of this merchant'
    return undefined
  }

  return {
    sums,
    performed({ invoice, isWrong }, { status, body }) {
      const { invoiceId, merchantId, nonce } = invoice
      const row = rowOf(invoice)
      if (status === 200) {
        if (isWrong === 'altered')
          breaks('nothing is ordered that the merchant did not confirm', `${invoiceId} was altered, and is taken`)
        if (!row) return breaks('an acknowledged order exists', `invoice ${invoiceId} was acknowledged, and is not there`)
        sameToken(invoice, String(body.session?.token), 'an answer')
        return
      }
      if (status !== 400 || isWrong === 'altered') return
      const taken = [...model.invoices.rows.values()].find(
        (r) => r.invoice.nonce === nonce && r.invoice.merchantId === merchantId,
      )
      if (taken?.invoice.invoiceId === invoiceId || !taken)
        breaks('the same request has the same answer', `invoice ${invoiceId} was refused: ${body.error?.message}`)
    },
    choosing: transfers.choosing,
    chosen: transfers.chosen,
    status(invoice, said, isOwner) {
      const { invoiceId, merchantId } = invoice
      const { status, body } = said
      if (status >= 500) return
      if (!isOwner) {
        if (status === 200 || body.error?.cause !== 'ORDER_NOT_FOUND')
          breaks('a stranger is told nothing', `a stranger was told ${body.state ?? body.error?.cause} of ${invoiceId}`)
        return
      }
      if (status !== 200)
        return breaks(
          'an acknowledged order exists',
          `invoice ${invoiceId} was acknowledged, and is told as ${body.error?.message}`,
        )
      const key = invoiceKey({ merchantId, invoiceId })
      const before = told.get(key)
      if (before !== undefined && before !== body.state)
        breaks('a final status stays', `invoice ${invoiceId} was told as ${before}, and is told as ${body.state}`)
      if (body.state === 'TRANSFER_FEE_REQUEST') transfers.listed(invoice, said)
      if (finalStates.has(body.state!)) told.set(key, body.state!)
    },
    checked: (invoice, token) => sameToken(invoice, token, 'a question'),
    notified({ invoice, source, destination }) {
      const { invoiceId, merchantId } = invoice
      const row = rowOf({ merchantId, invoiceId })
      const order = row && orderOf(row)
      if (!order || statusOf(order) !== 'approved')
        return breaks('a card is told where it is due', `a card of ${invoiceId} was told, which is ${order && statusOf(order)}`)
      const due = cardsDueOf(invoice)
      const ids = [
        due.source ? String(model.references.ofOrder(merchantId, order.orderId)?.ids.cardRefId) : undefined,
        due.destination ? String(model.references.ofDestination(merchantId, order.orderId)?.ids.dstCardRefId) : undefined,
      ]
      if (ids[0] !== source || ids[1] !== destination)
        breaks(
          'a card is told where it is due',
          `${invoiceId} was told as ${source} and ${destination}, not ${ids.join(' and ')}`,
        )
    },
    written(after, before) {
      const { invoiceId, state, merchantId, nonce } = after.invoice
      sums.written(after, before)
      if (before && isEnded(before))
        breaks('an invoice ends once', `${invoiceId} was ${before.invoice.state} and is written again as ${state}`)
      if (!before) {
        const twins = [...model.invoices.rows.values()].filter(
          (r) => r.invoice.nonce === nonce && r.invoice.merchantId === merchantId,
        )
        if (twins.length > 1) breaks('a nonce makes one invoice', `the nonce of ${invoiceId} made ${twins.length} invoices`)
      }
      if (isEnded(after) && after.secrets.cvv2)
        breaks('a CVV2 is gone when it is not needed', `invoice ${invoiceId} is ${state} and still has its CVV2`)
      const order = orderOf(after)
      if (state === 'declined' && order && !isRefused(order))
        breaks('what is declined is not charged', `invoice ${invoiceId} is declined, and there is an order for it`)
      if (state === 'ordered' && !order)
        breaks('an invoice ends once', `invoice ${invoiceId} is ordered, and there is no order for it`)
    },
    committed(order, before) {
      const { invoiceId } = order.request.mobile ?? {}
      if (before || invoiceId === undefined || isRandomSum(order)) return
      const { merchantId, orderId } = order
      const row = rowOf({ merchantId, invoiceId })
      const initiated = servers.initiated.get(invoiceId)
      if (row?.invoice.orderId !== orderId)
        breaks('one order an invoice', `order ${orderId} is for invoice ${invoiceId}, which has order ${row?.invoice.orderId}`)
      if (isRefused(order)) return
      sums.ordered(row)
      if (row?.invoice.state === 'declined')
        breaks('what is declined is not charged', `order ${orderId} is for invoice ${invoiceId}, which is declined`)
      const fault = initiated ? faultOf(order, initiated) : 'nobody initiated it'
      if (fault !== undefined)
        breaks('nothing is ordered that the merchant did not confirm', `order ${orderId} is for invoice ${invoiceId}: ${fault}`)
    },
    settled(wall) {
      for (const row of model.invoices.rows.values()) {
        checkEnded(row, wall)
        sums.settled(row)
      }
    },
  }

  function checkEnded(row: InvoiceRow, wall: number): void {
    const { invoiceId, state, tries } = row.invoice
    if (!isEnded(row))
      breaks(
        'every order ends',
        `invoice ${invoiceId} is ${state} after ${tries} failures${row.alarm === undefined ? '' : ', and parked'}`,
      )
    if (row.lease !== undefined && model.isDead(row.lease))
      breaks('nothing is leased forever', `invoice ${invoiceId} is in the hand of ${row.lease}`)
    const order = orderOf(row)
    const toldAs = told.get(invoiceKey(row.invoice))
    if (toldAs !== undefined && (toldAs === 'APPROVED') !== (order !== undefined && statusOf(order) === 'approved'))
      breaks('a final status stays', `invoice ${invoiceId} was told as ${toldAs}; its order is ${order && statusOf(order)}`)
    if (order && finalStatuses.has(statusOf(order))) checkMapping(row, order, wall)
  }

  /** The merchant's server hears of a card that paid; not of one that it named itself. */
  function checkMapping({ invoice: { invoiceId } }: InvoiceRow, order: Order, wall: number): void {
    const { source, destination } = cardsDueOf(servers.initiated.get(invoiceId)!)
    const isDue = statusOf(order) === 'approved' && (source || destination)
    const rows = [...Array(order.deliveries + 1).keys()].flatMap(
      (n) => model.deliveries.rows.get(`${placeKey(order)}/${n}`) ?? [],
    )
    const mappings = rows.filter((r) => r.kind === 'card mapping')
    const [mapping] = mappings
    const heard = new Set(servers.notified.filter((n) => n.invoice.invoiceId === invoiceId).map((n) => n.answer))
    const broken = (why: string) => breaks('a card is told where it is due', `the card of ${invoiceId} ${why}`)
    if (mappings.length !== (isDue ? 1 : 0)) return broken(`has ${mappings.length} messages; it is ${isDue ? '' : 'not '}due`)
    if (!mapping) return
    if (mapping.state === 'delivered' && !heard.has('accepted')) broken('is delivered, and nobody accepted it')
    if (mapping.state === 'given up' && !heard.has('refused') && mapping.tries < maxMappingTries)
      broken(`was given up after ${mapping.tries} tries`)
    if (mapping.state === 'due' && mapping.dueAt! < wall - slackMs) broken(`is due since ${wall - mapping.dueAt!} ms`)
  }
}
