import assert from 'node:assert/strict'
import { test } from 'node:test'
import { accepted, sale, settled, type Fields } from '../../conformance/requests/client.ts'
import { openFaultDesk } from '../../harness/world/fault-desk.ts'
import { closing, openWorld } from '../../harness/world/opening.ts'

/** Two merchants at one gate. One keeps as many unanswered sales open as the gateway allows. */

const room = 100
/** The acquirer never answers it. */
const unanswered = { cvv2: '217' }

// What stays open would be in the way of the next file.
const world = await openWorld({ own: true })
const desk = closing(await openFaultDesk(world))
// Longer than the test takes, so that what is open stays open.
await desk.gate({ maxOpen: room, answerTimeoutMs: 600_000 })

const isTaken = (reply: Fields): boolean => {
  assert.ok(reply.type === 'async-response' || reply['error-code'] === '20', JSON.stringify(reply))
  return reply.type === 'async-response'
}
const attack = async (sales: number): Promise<number> => {
  const replies = await Promise.all(Array.from({ length: sales }, () => sale(world, unanswered)))
  return replies.filter(isTaken).length
}

test('a merchant who fills a shared gate and keeps trying gets half of it; all sales of the other are paid', async () => {
  assert.equal(await attack(2 * room), room / 2)
  const attacker = { isOver: false }
  const attacking = (async () => {
    let taken = 0
    while (!attacker.isOver) taken += await attack(20)
    return taken
  })()
  const way = { path: world.other.endpoint, as: { login: world.other.login, controlKey: world.other.controlKey } }
  try {
    const sold = (await Promise.all(Array.from({ length: 40 }, () => sale(world, {}, way)))).map(accepted)
    for (const one of sold) assert.equal((await settled(world, one, way)).status, 'approved')
  } finally {
    attacker.isOver = true
  }
  assert.equal(await attacking, 0)
})
