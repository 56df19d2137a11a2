import { uuid } from '../src/base/random.ts'
import type { Asking, Slot } from './asking.ts'
import type { Cardholders } from './cardholders.ts'
import type { Chance } from './chance.ts'
import { cards, configuration, secureCards, sumCards, sumEndpoints, transferEndpoints } from './configuration.ts'
import { sumPages } from './gateway.ts'
import type { Initiated, Mapped, MerchantServers } from './merchant-servers.ts'
import type { SumPayers } from './sum-payers.ts'
import { destinations } from './transfers.ts'
import { cvv2s, payerOf, secureCvv2s, sumCvv2s } from './wants.ts'

/** A request of an app, and what the gateway said. */
export interface Said {
  status: number
  body: {
    invoiceId?: string
    session?: { token?: string }
    state?: string
    redirectUrl?: string
    transferFeeList?: { assignedId: string; commissionCentis: number }[]
    error?: { cause: string; message: string }
  }
}

/** A transaction as an app performs it: the body does not change. */
export interface Performed {
  invoice: Initiated
  body: object
  /** `altered`: not what was initiated. `payer`: not whom the card was mapped with. Nothing may come of either. */
  isWrong?: 'altered' | 'payer'
}

export interface AppEvents {
  onPerformed(performed: Performed, said: Said): void
  /** A fee is chosen, perhaps one that was not listed; then what the gateway said. */
  onChoosing(invoice: Initiated, assignedId: string): void
  onChosen(invoice: Initiated, assignedId: string, said: Said): void
  /** `isOwner`: asked with both tokens of this invoice. */
  onStatus(invoice: Initiated, said: Said, isOwner: boolean): void
  trace(what: () => string): void
}

export interface AppParts {
  chance: Chance
  slots: readonly Slot[]
  asking: Asking
  servers: MerchantServers
  cardholders: Cardholders
  sumPayers: SumPayers
  orderIdOf(invoice: Initiated): bigint | undefined
  told: AppEvents
}

/** Merchants' apps: they perform what was initiated, more than once at times, and ask until it is final. */
export interface Apps {
  begin(number: number): void
  /** At an endpoint that asks for a random sum. */
  beginWithSum(number: number): void
  waiting(): number
}

const tries = 8
const polls = 12
const endpoints = [17n, 17n, 18n, 18n, 19n, ...transferEndpoints, ...transferEndpoints] as const
const finalStates: ReadonlySet<string | undefined> = new Set(['APPROVED', 'DECLINED'])

export function openApps({ chance, slots, asking, servers, cardholders, sumPayers, orderIdOf, told }: AppParts): Apps {
  const { ask, pause } = asking
  const random = chance.fork().random()
  let waiting = 0

  /** Most often a card of this merchant's, where there is one. */
  function mappedCard(merchantId: bigint, of: Mapped['of']): string | undefined {
    const all = servers.mapped.filter((m) => m.of === of)
    const own = all.filter((m) => m.merchantId === merchantId)
    if (own.length > 0 && chance.happens(0.4)) return chance.pick(own).clientCardId
    return all.length > 0 && chance.happens(0.05) ? chance.pick(all).clientCardId : undefined
  }

  function initiated(number: number, endpointId: bigint, nonce?: string): Initiated {
    const { merchantId } = configuration.endpoint(endpointId)!
    const isTransfer = transferEndpoints.some((id) => id === endpointId)
    const clientCardId = mappedCard(merchantId, 'source')
    const toClientCardId = isTransfer ? mappedCard(merchantId, 'destination') : undefined
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

  function performed(invoice: Initiated): Performed {
    const { kind, merchantId, endpointId, clientCardId, accessToken, nonce, signature, serialNumber } = invoice
    const { threeDSecure, randomSum } = configuration.endpoint(endpointId)!.settings
    const isAltered = chance.happens(0.03)
    const isElse = clientCardId !== undefined && chance.happens(0.1)
    const card = {
      number: chance.pick(randomSum ? sumCards : threeDSecure ? secureCards : cards),
      expiry: { month: 12, year: chance.happens(0.02) ? 2025 : 2031 },
      securityCode: chance.pick(randomSum ? sumCvv2s : threeDSecure ? secureCvv2s : cvv2s),
      holder: { printedName: 'A BUYER' },
    }
    const reference = { clientCardId, ...(chance.happens(0.3) ? { securityCode: '123' } : {}) }
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
      ...(kind === 'transfer' ? { destinationOfFunds: destinationOf(invoice) } : {}),
      transaction: { ...amountCentis, currency: 'USD' },
    }
    if (isAltered) return { invoice, body, isWrong: 'altered' }
    return isElse ? { invoice, body, isWrong: 'payer' } : { invoice, body }
  }

  function destinationOf({ toClientCardId }: Initiated) {
    if (toClientCardId !== undefined) return { reference: { clientCardId: toClientCardId } }
    const { well, refused, silent } = destinations
    return { card: { number: chance.pick([well, well, well, refused, silent]) } }
  }

  /** Over HTTP to one process. Undefined: no answer. */
  function call(slot: Slot, { kind, endpointId, invoiceId }: Initiated, what: '' | `/${string}`, body: object) {
    told.trace(() => `app      ${invoiceId} asks ${slot.name}${what === '' ? ` for a ${kind}` : ` for ${what.slice(1)}`}`)
    return ask(slot, async (gateway): Promise<Said> => {
      const answer = await gateway.call('POST', `/dapi/v1/${kind}/${endpointId}/${invoiceId}${what}`, JSON.stringify(body))
      return { status: answer.status, body: JSON.parse(String(answer.body)) as Said['body'] }
    })
  }

  async function insist(performs: Performed, slot?: Slot): Promise<string | undefined> {
    for (let n = 0; n < tries; n++) {
      const said = await call(slot ?? chance.pick(slots), performs.invoice, '', performs.body)
      if (said) told.onPerformed(performs, said)
      if (said?.status === 200) return said.body.session?.token
      if (said?.status === 400) return undefined
      await pause(chance.between(200, 6_000))
    }
    return undefined
  }

  async function look(invoice: Initiated, token: string): Promise<void> {
    let isPaying = false
    let isChosen = false
    for (let n = 0; n < polls; n++) {
      await pause(chance.between(100, 1_500 + n * 1_500))
      const isOwner = !chance.happens(0.08)
      const foreign = chance.pick(['token', 'accessToken'] as const)
      const session = { accessToken: invoice.accessToken, token, ...(isOwner ? {} : { [foreign]: uuid(random) }) }
      const said = await call(chance.pick(slots), invoice, '/status', { session })
      if (said) told.onStatus(invoice, said, isOwner)
      if (isOwner && finalStates.has(said?.body.state) && chance.happens(0.7)) return
      const fees = said?.body.transferFeeList
      if (fees && !isChosen) {
        isChosen = true
        if (!(await choose(invoice, token, fees))) return
      }
      const orderId = orderIdOf(invoice)
      if (said?.body.state !== 'REDIRECT_REQUEST' || isPaying || orderId === undefined) continue
      isPaying = true
      const { redirectUrl = '' } = said.body
      if (redirectUrl.startsWith(sumPages)) {
        await sumPayers.pay(invoice, redirectUrl.slice(sumPages.length))
        continue
      }
      await cardholders.pay({ clientOrderid: invoice.invoiceId, endpointId: invoice.endpointId }, orderId)
    }
  }

  /** False: the consumer goes away. */
  async function choose(invoice: Initiated, token: string, fees: readonly { assignedId: string }[]): Promise<boolean> {
    const way = chance.pick(['once', 'once', 'once', 'again', 'both', 'other', 'wrong', 'never'] as const)
    if (way === 'never') return false
    await pause(chance.happens(0.03) ? chance.between(880_000, 920_000) : chance.between(500, 20_000))
    const session = { accessToken: invoice.accessToken, token }
    const complete = async (assignedId: string, slot?: Slot) => {
      told.onChoosing(invoice, assignedId)
      for (let n = 0; n < tries; n++) {
        const said = await call(slot ?? chance.pick(slots), invoice, `/${assignedId}`, { session })
        if (said) told.onChosen(invoice, assignedId, said)
        if (said && said.status < 500) return
        await pause(chance.between(200, 4_000))
      }
    }
    const { assignedId } = chance.pick(fees)
    if (way === 'wrong') await complete('elsewhere')
    if (way === 'both') await Promise.all(slots.map((slot) => complete(assignedId, slot)))
    else if (way === 'other') await Promise.all(fees.map((fee, i) => complete(fee.assignedId, slots[i])))
    else await complete(assignedId)
    if (way === 'again') {
      await pause(chance.between(0, 30_000))
      await complete(assignedId)
    }
    return true
  }

  async function use(performs: Performed): Promise<void> {
    const way = chance.pick(['once', 'once', 'once', 'again', 'both', 'both'] as const)
    if (way !== 'both') {
      const token = await insist(performs)
      if (way === 'again') {
        await pause(chance.between(0, 40_000))
        await insist(performs)
      }
      if (token !== undefined) await look(performs.invoice, token)
      return
    }
    const tokens = await Promise.all(slots.map((slot) => insist(performs, slot)))
    const token = tokens.find((t) => t !== undefined)
    if (token !== undefined) await look(performs.invoice, token)
  }

  function start(performs: Performed): void {
    waiting++
    void use(performs).finally(() => waiting--)
  }

  function begin(number: number, endpointId: bigint): void {
    const invoice = initiated(number, endpointId)
    start(performed(invoice))
    // A merchant that gives a nonce out twice: two invoices with it, at once.
    if (chance.happens(0.06)) start(performed(initiated(number + 100_000, invoice.endpointId, invoice.nonce)))
  }

  return {
    begin: (number) => begin(number, chance.pick(endpoints)),
    beginWithSum: (number) => begin(number + 200_000, chance.pick(sumEndpoints)),
    waiting: () => waiting,
  }
}
