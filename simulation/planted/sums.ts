import type { InvoiceStore, InvoiceChange } from '../../src/mobile-api/invoice/store.ts'
import type { WrongSums } from '../../src/mobile-api/sum/store.ts'
import type { Advanced } from '../../src/order/door/submission.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import type { Planted } from './planting.ts'

/** Bugs around the random sum of the mobile API. */

const inSums = (change: (sums: WrongSums, invoices: InvoiceStore) => Partial<WrongSums>): Wraps => ({
  stores: (stores) => ({ ...stores, wrongSums: { ...stores.wrongSums, ...change(stores.wrongSums, stores.invoices) } }),
})

/** The gateway derives the serial number of its own release, which the version digit 5 shows. */
const isRelease = (serialNumber: string) => serialNumber[14] === '5'
const released: Advanced = { is: 'not followed', judged: { is: 'wrong state', why: 'released' } }

const keepHolds: Wraps = {
  door: (door) => ({
    ...door,
    submit: (submission) =>
      submission.is === 'follow' && isRelease(submission.ask.serialNumber) ? Promise.resolve(released) : door.submit(submission),
  }),
}

/** Takes every cardholder who is sent to the page for one who knows the sum. */
const askNobody: Wraps = {
  stores: (stores) => ({
    ...stores,
    invoices: {
      ...stores.invoices,
      change: (decided, processId) => {
        const confirmed: InvoiceChange = { state: 'ordering', lease: processId, sumStatus: 'AUTHENTICATED' }
        return stores.invoices.change(
          decided.map((one) => (one.to.state === 'answering' ? { ...one, to: confirmed } : one)),
          processId,
        )
      },
    },
  }),
}

/** Counts an answer for the form that is open now, not for the one that was sent. */
const countForms = inSums((sums, invoices) => ({
  async answer(invoice, answer, ...rest) {
    const [now] = await invoices.find([invoice])
    return sums.answer(invoice, { ...answer, answerNo: (now ?? { invoice }).invoice.wrongAnswers + 1 }, ...rest)
  },
}))

// oxfmt-ignore
export const plantedInSums: readonly Planted[] = [
  { name: 'never give a random sum back', breaks: ['a random sum is returned'], wrap: keepHolds },
  { name: 'take a wrong sum for the right one', breaks: ['only the right sum confirms'], wrap: inSums((s) => ({
    answer: (invoice, answer, ...rest) => s.answer(invoice, { ...answer, sumMinor: invoice.hold!.sumMinor }, ...rest) })) },
  { name: 'confirm without asking for the sum', breaks: ['only the right sum confirms'], wrap: askNobody },
  { name: 'judge a tenth wrong sum', breaks: ['wrong sums are limited'], wrap: {
    sums: (sums) => Object.assign(sums, { count: () => 0 }) } },
  { name: 'count wrong sums under the newest fingerprint key alone', breaks: ['wrong sums are limited'], wrap: {
    keys: (keys) => ({ ...keys, versions: (purpose) => (purpose === 'fingerprint' ? [keys.current(purpose)] : keys.versions(purpose)) }) } },
  { name: 'count a form that is sent twice as two answers', breaks: ['a form is one answer', 'wrong sums are limited'], wrap: countForms },
  { name: 'never end the time for an answer', breaks: ['every order ends'], wrap: {
    stores: (s) => ({ ...s, invoices: { ...s.invoices, claimDue: async (...asked) => (await s.invoices.claimDue(...asked)).filter(({ invoice }) => invoice.state !== 'answering') } }) } },
]
