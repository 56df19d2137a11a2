import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Chance } from '../../simulation/world/chance.ts'
import { Events } from '../../simulation/world/clock.ts'
import { openStoreLine } from '../../simulation/model/store-line.ts'
import { StoreModel } from '../../simulation/model/store-model.ts'
import { calmDatabase } from '../../simulation/world/troubles.ts'
import { openMigrated } from '../harness/postgres/migrated.ts'
import { processes, silentProcess } from './model-events.ts'
import { history } from './model-history.ts'
import { checkSums, forgetAll, stored } from './model-postgres.ts'

const { pool } = await openMigrated()

test('the model of the store answers as PostgreSQL does, whatever is asked in whatever order', async () => {
  let asked = 0
  let followed = 0
  for (let seed = 1; seed <= 21; seed++) {
    const modelled = await onModel(seed)
    await forgetAll(pool)
    const real = await history(seed, stored(pool, seed))
    followed += await checkSums(pool)
    for (const [i, answer] of real.entries()) assert.deepEqual(modelled[i], answer, `answer ${i} of history ${seed}`)
    assert.equal(modelled.length, real.length)
    asked += real.length
  }
  assert.ok(asked > 2_000, `only ${asked} answers were compared`)
  assert.ok(followed > 10, `only ${followed} orders were captured or returned`)
})

async function onModel(seed: number): Promise<unknown[]> {
  const events = new Events()
  const model = new StoreModel(() => events.wall())
  for (const id of processes.slice(0, 2)) model.enter(id, `place ${id}`)
  const actor = { name: 'one', alive: true, pausedUntil: 0, wallOffsetMs: 0, numbers: new Map() }
  const line = openStoreLine({ model, events, actor, chance: new Chance(1), weather: { ...calmDatabase(), latencyMs: 0.2 } })
  const played: { answers?: unknown[]; failure?: unknown } = {}
  const isOver = () => 'answers' in played || 'failure' in played
  const fallSilent = (agoMs: number): Promise<void> => {
    model.heartbeats.set(silentProcess, { instance: 'silent', beatAt: events.wall() - agoMs })
    return Promise.resolve()
  }
  history(seed, { ...line, fallSilent }).then(
    (answers) => (played.answers = answers),
    (failure) => (played.failure = failure),
  )
  while (!isOver()) {
    await events.run(isOver)
    // Some steps of a history ask the store nothing.
    await new Promise(setImmediate)
  }
  if (!played.answers) throw played.failure
  return played.answers
}
