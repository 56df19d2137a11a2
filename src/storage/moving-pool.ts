/** A pool at a cell that may move to another server while it is used. */
import type { CellDatabase, Whereabouts } from './cells.ts'
import { failureOf, type Connection, type Pool } from './pool.ts'

/** A pool at one server, with how much of it is in use. */
interface Led {
  pool: Pool
  users: number
  isLeft: boolean
}

/**
 * What begins after a move goes to the new server; what began before ends where it is, and its pool
 * is closed after that.
 */
export function openMovingPool(where: Whereabouts, open: (database: CellDatabase) => Pool): Pool {
  const all = new Set<Led>()
  let current = lead(where.now())
  const forget = where.onMove((to) => {
    const old = current
    current = lead(to)
    old.isLeft = true
    endIfUnused(old)
  })

  function lead(database: CellDatabase): Led {
    const led = { pool: open(database), users: 0, isLeft: false }
    all.add(led)
    return led
  }

  function endIfUnused(led: Led) {
    if (led.isLeft && led.users === 0 && all.delete(led)) void led.pool.close()
  }

  function leave(led: Led) {
    led.users--
    endIfUnused(led)
  }

  function doubted(error: unknown): never {
    if (failureOf(error) === 'connection') where.doubt()
    throw error
  }

  function connectionOf(led: Led, connection: Connection): Connection {
    return {
      run: (sql, values) => connection.run(sql, values).catch(doubted),
      command: (sql) => connection.command(sql).catch(doubted),
      release(broken) {
        connection.release(broken)
        leave(led)
      },
    }
  }

  return {
    async run(sql, values) {
      const led = current
      led.users++
      return led.pool
        .run(sql, values)
        .catch(doubted)
        .finally(() => leave(led))
    },
    async connect() {
      const led = current
      led.users++
      try {
        return connectionOf(led, await led.pool.connect())
      } catch (error) {
        leave(led)
        return doubted(error)
      }
    },
    async close() {
      forget()
      const pools = [...all].map(({ pool }) => pool)
      all.clear()
      await Promise.all(pools.map((pool) => pool.close()))
    },
  }
}
