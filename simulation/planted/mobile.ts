import type { Outgoing, OutgoingRequest, OutgoingReply } from '../../src/http/outgoing.ts'
import { sessionSignature, signedParts } from '../../src/merchant/session.ts'
import { checkText } from '../../src/spec/mobile/signatures.ts'
import { invoiceKey } from '../../src/mobile-api/invoice/invoice.ts'
import type { OpenInvoice } from '../../src/mobile-api/invoice/rows.ts'
import type { InvoiceStore } from '../../src/mobile-api/invoice/store.ts'
import type { Accept } from '../../src/order/door/submission.ts'
import { merchantServers } from '../model/configuration.ts'
import type { GatewayParts, Wraps } from '../world/gateway-parts.ts'
import type { Invoices } from '../model/invoices.ts'
import { inDeliveries, inTables, type Planted } from './planting.ts'

const inInvoices = (change: (invoices: InvoiceStore) => Partial<InvoiceStore>): Wraps => ({
  stores: (stores) => ({ ...stores, invoices: { ...stores.invoices, ...change(stores.invoices) } }),
})

/** Changes the stored rows: a bug of the statements themselves. */
const inRows = (change: (invoices: Invoices) => Partial<Invoices>): Wraps => ({
  invoices: (invoices) => Object.assign(invoices, change(invoices)),
})

/** Changes the answers of merchants' servers about invoices. */
const inChecks = (
  change: (ask: () => Promise<OutgoingReply>, invoice: OpenInvoice, parts: GatewayParts) => Promise<OutgoingReply>,
): Wraps => ({
  outgoing: (outgoing: Outgoing, parts) => ({
    ...outgoing,
    async send(request) {
      const invoice = request.url.endsWith('/check') ? await askedAbout(request, parts) : undefined
      return invoice ? change(() => outgoing.send(request), invoice, parts) : outgoing.send(request)
    },
  }),
})

async function askedAbout({ url }: OutgoingRequest, { stores }: GatewayParts): Promise<OpenInvoice | undefined> {
  const server = merchantServers.find((s) => url.startsWith(s.url))
  if (!server) return undefined
  const { merchantId } = server
  const [found] = await stores.invoices.find([{ merchantId, invoiceId: decodeURIComponent(url.split('/').at(-2)!) }])
  return found && { invoice: found.invoice, secrets: found.openSecrets() }
}

interface Named {
  sourceOfFunds?: { reference: { serverCardId: string } }
  destinationOfFunds?: { reference: { serverCardId: string } }
}

/** The answer with which the merchant's server would confirm this invoice, with these cards. */
function confirmation(
  { invoice }: OpenInvoice,
  { sourceOfFunds, destinationOfFunds }: Named,
  { registry }: GatewayParts,
): OutgoingReply {
  const { kind, merchantId, nonce, sessionToken: token, invoiceId, endpointId, request } = invoice
  const parts = signedParts(checkText[kind], {
    'consumer.device.serialNumber': request.serialNumber,
    'session.nonce': nonce,
    endpointId: String(endpointId),
    invoiceId,
    'sourceOfFunds.reference.serverCardId': sourceOfFunds?.reference.serverCardId,
    'destinationOfFunds.reference.serverCardId': destinationOfFunds?.reference.serverCardId,
  })
  const checkSignature = sessionSignature(parts, registry().merchant(merchantId)!.controlKeys[0]!)
  const answer = { invoiceId, session: { checkSignature, nonce, token }, sourceOfFunds, destinationOfFunds }
  const body = Buffer.from(JSON.stringify(answer))
  return { is: 'answered', status: 200, headers: {}, body, truncated: false, durationMs: 1 }
}

const orderWithoutAsking = inChecks(async (ask, open, parts) => {
  const { clientCardId, toClientCardId } = open.invoice.request
  return clientCardId === undefined && toClientCardId === undefined ? confirmation(open, {}, parts) : ask()
})

const believeAnyAnswer = inChecks(async (ask, open, parts) => {
  const reply = await ask()
  const text = reply.is === 'answered' && reply.status === 200 ? reply.body.toString() : ''
  return text.endsWith('}') ? confirmation(open, JSON.parse(text) as Named, parts) : reply
})

/** A process that takes over an invoice asks its server again, and the second answer counts. */
const askAgain = inRows((invoices) => {
  const claimDue = invoices.claimDue.bind(invoices)
  const move = invoices.move.bind(invoices)
  return {
    claimDue: (...asked) =>
      claimDue(...asked).map((open) =>
        open.invoice.state === 'ordering' ? { ...open, invoice: { ...open.invoice, state: 'checking' } } : open,
      ),
    move(of, to, processId, now) {
      const stored = invoices.find(of.merchantId, of.invoiceId)!.invoice.state
      return move(of.state === 'checking' && stored === 'ordering' ? { ...of, state: stored } : of, to, processId, now)
    },
  }
})

const forgetNonces = inRows((invoices) => {
  const add = invoices.add.bind(invoices)
  return {
    add(...asked) {
      invoices.nonces.clear()
      return add(...asked)
    },
  }
})

const keepCvv2 = inRows((invoices) => {
  const move = invoices.move.bind(invoices)
  return {
    move(of, to, processId, now) {
      const { cvv2 } = invoices.find(of.merchantId, of.invoiceId)?.secrets ?? {}
      const moved = move(of, to, processId, now)
      const row = moved && invoices.rows.get(invoiceKey(of))
      if (row && cvv2) {
        row.secrets = { ...row.secrets, cvv2 }
        invoices.onWrite(row, undefined)
      }
      return moved
    },
  }
})

/** Accepts two different simultaneous choices of fee. */
const chooseAgain = inRows((invoices) => {
  const move = invoices.move.bind(invoices)
  return {
    move(of, to, processId, now) {
      const { invoice, lease = processId } = invoices.rows.get(invoiceKey(of))!
      const isChosen = of.state === 'choosing' && invoice.state === 'ordering'
      return isChosen ? move({ ...of, state: 'ordering' }, to, lease, now) : move(of, to, processId, now)
    },
  }
})

const again = 10n ** 12n

/** A process that takes over an invoice makes another order for it, with another id and name. */
const orderAgain: Wraps = {
  ...inInvoices((invoices) => ({
    claimDue: async (...asked) =>
      (await invoices.claimDue(...asked)).map(({ invoice, ...rest }) => ({
        ...rest,
        invoice: { ...invoice, orderId: invoice.orderId + again },
      })),
  })),
  door: (door) => ({
    ...door,
    submit(submission) {
      if (submission.is !== 'accept' || submission.order.orderId < again) return door.submit(submission)
      const { order } = submission
      return door.submit({ ...submission, order: { ...order, clientOrderid: `${order.clientOrderid}~` } } satisfies Accept)
    },
  }),
}

const confirmed = 'nothing is ordered that the merchant did not confirm'
const mapped = 'a card is sent where it is due'
const ends = 'every order ends'
const fee = 'the fee is the one that was chosen'

// oxfmt-ignore
export const plantedInMobile: readonly Planted[] = [
  { name: "order before the merchant's server has answered", breaks: [confirmed], wrap: orderWithoutAsking },
  { name: 'believe an answer about another invoice', breaks: [confirmed], wrap: believeAnyAnswer },
  { name: "ask the merchant's server again about what it confirmed", breaks: ['what is declined is not charged'], wrap: askAgain },
  { name: 'never look for invoices that a dead process left', breaks: [ends, 'nothing is leased forever'], wrap: inInvoices(() => ({ claimDue: () => Promise.resolve([]) })) },
  { name: 'keep the CVV2 of an invoice that ended', breaks: ['a CVV2 is gone when it is not needed'], wrap: keepCvv2 },
  { name: 'make another order for an invoice that is taken over', breaks: ['one order an invoice', 'an invoice ends once', confirmed], wrap: orderAgain },
  { name: 'take a nonce again', breaks: ['a nonce makes one invoice'], wrap: forgetNonces },
  { name: 'take an invoice that is there for a new one', breaks: ['the same request has the same answer', 'an acknowledged order exists', 'a stranger learns nothing'], wrap: inInvoices((i) => ({ add: async (...asked) => (await i.add(...asked)).map(() => true) })) },
  { name: "tell no merchant's server of a card", breaks: [mapped], wrap:
    inTables((t) => ({ save: (changes, lease) => t.save(changes.map((c) => ({ ...c, deliveries: c.deliveries.filter((d) => d.kind !== 'card mapping') })), lease) })) },
  { name: 'take any answer to a card for its receipt', breaks: [mapped], wrap:
    inDeliveries((d) => ({ saveTries: (tries, id) => d.saveTries(tries.map(({ dueAt, ...t }) => t.delivery.kind === 'card mapping' ? { ...t, state: 'delivered' } : { ...t, ...(dueAt === undefined ? {} : { dueAt }) }), id) })) },
  { name: 'never expire a choice of fee', breaks: [ends], wrap: inInvoices((i) => ({ claimDue: async (...asked) => (await i.claimDue(...asked)).filter(({ invoice }) => invoice.state !== 'choosing') })) },
  { name: 'take the first fee for the one that was chosen', breaks: [fee], wrap: inInvoices((i) => ({
    change: (decided, ...rest) => i.change(decided.map((one) => one.to.fee && one.invoice.fees ? { ...one, to: { ...one.to, fee: one.invoice.fees[0]! } } : one), ...rest) })) },
  { name: 'let a second choice of fee count', breaks: [fee], wrap: chooseAgain },
]
