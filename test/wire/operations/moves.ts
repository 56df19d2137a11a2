import assert from 'node:assert/strict'
import { Client } from 'pg'
import { metricsOf } from '../../harness/world/metrics.ts'
import { until } from '../../harness/clock/until.ts'
import type { World } from '../../harness/world/world.ts'
import { cliOf, run } from '../operator/cli-run.ts'

export interface Move {
  from: number | null
  to: number
  removed_orders: number
}

/** The merchant of a world, moved by the command from cell to cell. */
export function movesOf(world: () => World) {
  const cli = cliOf(world)
  const moveArguments = (to: number, login = world().merchant.login) => ['merchant', 'move', login, '--to', String(to), '--json']
  const command = (args: string[]) => run({ TOLLGATE_DIR: world().directory }, args)

  async function rowsIn<Row extends object>(cellNo: number, sql: string, values: unknown[] = []): Promise<Row[]> {
    const path = cellNo === 0 ? {} : { options: `-c search_path=cell_${cellNo}` }
    const client = new Client({ connectionString: world().databaseUrl, ...path })
    await client.connect()
    try {
      return (await client.query<Row>(sql, values)).rows
    } finally {
      await client.end()
    }
  }

  return {
    moveArguments,
    rowsIn,
    /** A second cell, which the world serves. */
    async addCell(): Promise<void> {
      await cli.tell(['cell', 'add', '1'])
      await until(
        async () => (await metricsOf(world()))('tollgate_cell_open{cell="1"}'),
        (open) => open === 1,
      )
    },
    async move(to: number): Promise<Move> {
      const ran = await command(moveArguments(to))
      assert.equal(ran.code, 0, ran.err)
      return JSON.parse(ran.out) as Move
    },
    async refuse(args: string[], words: RegExp): Promise<void> {
      const ran = await command(args)
      assert.equal(ran.code, 1, ran.out)
      assert.match(ran.err, words)
    },
    /** Resolves while the command waits for what is under way. */
    async inPause(moving: Promise<unknown>): Promise<void> {
      const ended = moving.then(() => assert.fail('the move did not wait'))
      const state = async () => (await rowsIn<{ state: string }>(0, 'select state from merchant_move'))[0]?.state
      await Promise.race([ended, until(state, (one) => one === 'closed')])
    },
  }
}
