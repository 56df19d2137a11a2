import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { accepted, sale, statusOf, until, type Fields } from '../conformance/client.ts'
import { openFaultDesk, type FaultDesk } from '../harness/fault-desk.ts'
import { startWorld, type World } from '../harness/world.ts'

/** Two merchants at one gate. One keeps as many unanswered sales open as the gateway allows. */

let world: World
let desk: FaultDesk
const room = 100
/** The acquirer never answers it. */
const unanswered = { cvv2: '217' }

before(async () => {
  world = await startWorld({ own: true })
  desk = await openFaultDesk(world)
  // Longer than the test takes, so that what is open stays open.
  await desk.gate({ maxOpen: room, answerTimeoutMs: 600_000 })
})
after(async () => {
  await desk?.close()
  await world?.stop()
})

const isTaken = (reply: Fields): boolean => {
  assert.ok(reply.type === 'async-response' || reply['error-code'] === '20', JSON.stringify(reply))
  return reply.type === 'async-response'
}
const attack = async (sales: number): Promise<number> => {
  const replies = await Promise.all(Array.from({ length: sales }, () => sale(world, unanswered)))
  return replies.filter(isTaken).length
}

test('a merchant who fills a shared gate at once and keeps on trying gets half of it, and all sales of the other are taken and paid', async () => {
  assert.equal(await attack(2 * room), room / 2)
  const attacker = { isOver: false }
  const attacking = (async () => {
    let taken = 0
    while (!attacker.isOver) taken += await attack(20)
    return taken
  })()
  const way = { path: world.other.endpoint, as: { login: world.other.login, controlKey: world.other.controlKey } }
  const sold = (await Promise.all(Array.from({ length: 40 }, () => sale(world, {}, way)))).map(accepted)
  for (const one of sold) {
    const paid = await until(() => statusOf(world, one, way), (seen) => seen.status !== 'processing') // oxfmt-ignore
    assert.equal(paid.status, 'approved')
  }
  attacker.isOver = true
  assert.equal(await attacking, 0)
})
