import { Merchant, type Reply, type Sale, type Shop } from '../torture/merchant.ts'

/** A merchant that also notes which gateway took a sale, and every refusal. */
export class WatchedMerchant extends Merchant {
  /** Sales, by the origin of their gateway. */
  readonly acknowledgedBy = new Map<string, number>()
  /** How often each refusal came. */
  readonly refusals = new Map<string, number>()
  readonly #choose: () => string

  constructor(shop: Shop, choose: () => string) {
    super(shop, choose)
    this.#choose = choose
  }

  override async send(sale: Sale, origin = this.#choose()): Promise<Reply> {
    const reply = this.#noted('a sale', await super.send(sale, origin))
    if (reply?.['type'] === 'async-response') this.acknowledgedBy.set(origin, (this.acknowledgedBy.get(origin) ?? 0) + 1)
    return reply
  }

  override async status(sale: Sale, orderid?: string): Promise<Reply> {
    return this.#noted('a status request', await super.status(sale, orderid))
  }

  #noted(what: string, reply: Reply): Reply {
    if (reply && /^(?:validation-)?error$/.test(reply['type'] ?? '')) {
      const says = `${what} was answered ${reply['error-code']} ${reply['error-message']}`
      this.refusals.set(says, (this.refusals.get(says) ?? 0) + 1)
    }
    return reply
  }
}
