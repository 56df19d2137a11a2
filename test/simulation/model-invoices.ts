/** What processes ask the store about invoices, drawn by chance. */
import type { CommonHashes } from '../../src/card/vault.ts'
import type { Chance } from '../../simulation/world/chance.ts'
import { secret } from '../../src/base/secret.ts'
import {
  declines,
  type Confirmed,
  type Fee,
  type Hold,
  type Invoice,
  type InvoiceSecrets,
} from '../../src/mobile-api/invoice/invoice.ts'
import type { OpenInvoice, SealedInvoice } from '../../src/mobile-api/invoice/rows.ts'
import type { InvoiceStore, InvoiceChange } from '../../src/mobile-api/invoice/store.ts'
import type { WrongSums } from '../../src/mobile-api/sum/store.ts'
import { claimerBy, processes } from './model-events.ts'

export interface Asking {
  store: InvoiceStore
  sums: WrongSums
  fallSilent: (agoMs: number) => Promise<void>
  chance: Chance
  now: () => number
  note: (answer: unknown) => void
}

/** Few names and few nonces, so that they meet. */
function newInvoice(number: number, chance: Chance, now: number): Invoice {
  const kind = chance.pick(['sale', 'verification'] as const)
  return {
    merchantId: chance.pick([1n, 1n, 2n]),
    invoiceId: `invoice ${chance.whole(1, 12)}`,
    endpointId: 17n,
    kind,
    nonce: `nonce ${chance.whole(1, 14)}`,
    sessionToken: `token ${number}`,
    orderId: BigInt(1_000 + number),
    digest: Buffer.alloc(32, number),
    request: {
      serialNumber: 'device 1',
      currency: 'USD',
      ipAddress: '192.0.2.1',
      billing: { city: 'Town' },
      ...(kind === 'sale' ? { amountCentis: 1_050, amountMinor: '1050' } : {}),
      ...(chance.happens(0.5) ? { email: 'a@example.com' } : { clientCardId: 'card 1' }),
    },
    state: 'checking',
    wrongAnswers: 0,
    tries: 0,
    createdAt: now,
  }
}

const newSecrets = (chance: Chance): InvoiceSecrets => ({
  accessToken: secret('an access token'),
  signature: secret('a signature'),
  ...(chance.happens(0.7) ? { pan: secret('4111111111111111') } : {}),
  ...(chance.happens(0.3) ? { toPan: secret('6011111111111117') } : {}),
  ...(chance.happens(0.5) ? { cvv2: secret('123') } : {}),
})

const confirmed: Confirmed = { billing: { city: 'Town' }, email: 'b@example.com', serverCardId: '7' }

const fee: Fee = { assignedId: 'plain', gateId: '1', commissionMinor: '30' }

function newMove(chance: Chance, now: number, number: number): InvoiceChange {
  const lease = chance.pick(processes)
  const hold: Hold = { orderId: BigInt(2_000 + number), sumMinor: 345n, pageToken: `page ${chance.whole(1, 1e9)}` }
  const moves: InvoiceChange[] = [
    { state: 'holding', lease, confirmed, hold },
    { state: 'ordering', lease, confirmed },
    { state: 'choosing', restsUntil: now + 60_000, confirmed, fees: [fee, { ...fee, assignedId: 'other' }] },
    { state: 'ordering', lease, fee },
    { state: 'ordered' },
    { state: 'declined', ...declines.refused },
  ]
  const held: InvoiceChange[] = [
    { state: 'answering', restsUntil: now + 60_000, wrongAnswers: chance.whole(0, 2) },
    { state: 'ordering', lease, sumStatus: 'AUTHENTICATED' },
    { state: 'releasing', lease, sumStatus: 'NOT_AUTHENTICATED', ...declines.sum },
  ]
  return chance.pick([...moves, ...held.map((move) => ({ ...move, hold }))])
}

const revealed = (open: OpenInvoice | undefined) =>
  open && {
    ...open.invoice,
    ...Object.fromEntries(Object.entries(open.secrets).map(([name, value]) => [name, (value as { reveal(): string }).reveal()])),
  }

const opened = (sealed: SealedInvoice | undefined) => revealed(sealed && { ...sealed, secrets: sealed.openSecrets() })

/** Some of one statement's batch are of the same invoice or nonce, or the very same. */
const several = <T>(chance: Chance, draw: () => T): T[] => {
  const drawn = Array.from({ length: chance.whole(1, 3) }, draw)
  return chance.happens(0.2) ? [...drawn, drawn[0]!] : drawn
}

export function invoiceCalls({ store, sums, fallSilent, chance, now, note }: Asking): (() => Promise<void>)[] {
  const asked: Invoice[] = []
  const some = () => (asked.length > 0 ? chance.pick(asked) : undefined)
  const add = async () => {
    const fresh = several(chance, () => {
      const invoice = newInvoice(asked.length + 1, chance, now())
      asked.push(invoice)
      return { invoice, secrets: newSecrets(chance) }
    })
    const processId = chance.pick(processes)
    note(await store.add(fresh, processId))
    // A run whose answer was lost is repeated.
    if (chance.happens(0.3)) note(await store.add(fresh, processId))
  }
  /**
   * For few cards, so that they run out of wrong sums; some answers are late, early, or of another
   * form.
   */
  const answers = async (invoice: Invoice) => {
    const cardHashes = chance.pick<CommonHashes>([['one card'], ['one card again', 'one card'], ['another']])
    for (let n = 0; n < 4; n++) {
      const answer = { answerNo: chance.whole(1, 3), sumMinor: chance.happens(0.2) ? 345n : 346n, cardHashes }
      const at = now() + chance.pick([0, 0, 0, 90_000, 86_400_000])
      note(revealed(await sums.answer(invoice, answer, chance.pick(processes), at)))
      note(await sums.count(cardHashes, at))
    }
  }
  return [
    add,
    add,
    async () => {
      note((await store.find(asked)).map(opened))
    },
    async () => {
      const { by, silentMs } = claimerBy(chance)
      await fallSilent(silentMs)
      note(await store.firstDue())
      const claimed = await store.claimDue(by, now() + chance.whole(-2_000, 20_000), 1_000)
      note(claimed.map(opened).sort((a, b) => Number(a!.orderId - b!.orderId)))
    },
    async () => {
      if (asked.length === 0) return
      const at = now()
      const chosen = several(chance, () => chance.pick(asked))
      const read = await store.find(chosen)
      // From the state that is stored, or from one that it had before.
      const decided = chosen.map((invoice, i) => ({
        invoice: (chance.happens(0.8) ? read[i]?.invoice : undefined) ?? invoice,
        secrets: read[i]?.openSecrets() ?? newSecrets(chance),
        to: newMove(chance, at, asked.length),
        now: at,
      }))
      const processId = chance.pick(processes)
      const moved = await store.change(decided, processId)
      note(moved.map(opened))
      if (chance.happens(0.3)) note((await store.change(decided, processId)).map(opened))
      for (const { invoice } of moved.filter((one) => one !== undefined)) {
        if (invoice.state === 'answering') await answers(invoice)
        if (invoice.hold) note(revealed(await store.findByPage(invoice.merchantId, invoice.hold.pageToken)))
      }
    },
    async () => {
      const invoice = some()
      if (!invoice) return
      if (chance.happens(0.5)) await store.rest(invoice, chance.pick(processes), now() + 500)
      else await store.putBack(invoice, chance.pick(processes), now() + 500, chance.happens(0.1) ? 'parked' : undefined)
    },
  ]
}
