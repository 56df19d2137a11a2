import { openAttempt } from '../../src/order/perform.ts'
import { orderKeyText } from '../../src/order/decide/change.ts'
import type { Wraps } from '../world/gateway-parts.ts'
import { cardOf, type Planted } from './planting.ts'

/** A process that judges another dead writes its orders, but does not take their steps. */
const bumpTheVersion: Wraps = {
  model(model) {
    const claimDue = model.claimDue.bind(model)
    model.claimDue = (by, now, limit) => {
      for (const { order: before, t, isLocked } of model.steps()) {
        if (isLocked || t.step !== 'authorise' || t.lease === undefined || !by.silent.includes(t.lease)) continue
        const stored = model.orders.get(orderKeyText(before))!
        const after = { ...stored, version: stored.version + 1 }
        model.orders.set(orderKeyText(after), after)
        model.onCommit({ before: stored, after, rows: [], deliveries: [], eraseCvv2: false }, stored)
      }
      return claimDue(by, now, limit)
    }
  },
}

/** Waits for a process that has been replaced as if it were only silent. */
const waitForTheGone: Wraps = {
  model(model) {
    const goneAt = new Map<bigint, number>()
    const isKnownDead = model.isKnownDead.bind(model)
    let now = 0
    const claimDue = model.claimDue.bind(model)
    model.claimDue = (by, at, limit) => {
      now = Math.max(now, at)
      return claimDue(by, at, limit)
    }
    model.isKnownDead = (id) => {
      if (!isKnownDead(id)) return false
      if (!goneAt.has(id)) goneAt.set(id, now)
      return now - goneAt.get(id)! > 10_000
    }
  },
}

/** Takes steps of one kind from a silent process as soon as it counts as dead. */
const withoutPatience = (step: string): Wraps => ({
  model(model) {
    const patienceMs = model.patienceMs.bind(model)
    model.patienceMs = (order, t) => (t.step === step ? 0 : patienceMs(order, t))
  },
})

/** A process that takes over an authorisation sends it again under a new STAN. */
const askUnderANewStan: Wraps = {
  door: (door, performers, parts) => ({
    ...door,
    async submit(submission) {
      if (submission.is !== 'resume' || door.holds(submission)) return door.submit(submission)
      const [before] = await parts.stores.orders.load([submission])
      const transaction = before?.transactions.find((t) => t.no === submission.transactionNo)
      if (!before || transaction?.step !== 'authorise') return door.submit(submission)
      const { no } = openAttempt(before, transaction)
      const stan = String((await parts.stores.reserve('attempt', 1)) % 1_000_000n).padStart(6, '0')
      const attempts = before.attempts.map((a) => (a.no === no ? { ...a, stan } : a))
      const after = { ...before, version: before.version + 1, attempts }
      const change = { before, after, rows: [], deliveries: [], eraseCvv2: false }
      const saved = await parts.stores.orders.transaction((tables) => tables.save([change], undefined))
      if (saved.size === 0) return door.submit(submission)
      const { merchantId, orderId } = submission
      const card = await cardOf(parts, submission)
      const event = await performers.authorise({ order: after, card }, transaction)
      return door.submit({ is: 'event', merchantId, orderId, event })
    },
  }),
}

const alone = 'what may still be answered is left alone'

// oxfmt-ignore
export const plantedInPatience: readonly Planted[] = [
  { name: 'take a payment over before its deadline', breaks: [alone], wrap: withoutPatience('authorise') },
  { name: 'store another version of a payment before its deadline', breaks: [alone], wrap: bumpTheVersion },
  { name: 'wait for a process whose place is taken', breaks: ['a known dead process is taken over immediately', 'every order ends'], wrap: waitForTheGone },
  { name: 'fail an authentication as soon as its process is silent', breaks: [alone], wrap: withoutPatience('authenticate') },
  { name: 'count the time without the database', breaks: ['time without the database counts against no process'], wrap: {
    heartbeat: (h) => ({ ...h, judges: () => true }) } },
  { name: 'ask again under a new STAN on recovery', breaks: ['the books are equal', 'an authentication is used once', 'an attempt is recorded before it is sent', 'a list of amounts is charged once', 'a transfer moves money once and whole'], wrap: askUnderANewStan },
]
