/** Failed tries to sign in, by user name, network and open session, in all processes. */
import { statement, type Runner } from '../storage/pool.ts'

/** A user name as it was given, the network of an address, or the number of a session. */
export interface Tried {
  kind: 'account' | 'network' | 'session'
  name: string
}

/** So many tries are free; each further one waits twice as long as the one before. */
const freeTries = 10
const firstWaitMs = 15_000
const mostWaitMs = 30 * 60_000

/** A try counts as failed from its beginning, so that many at the same time find no gap. */
const count = statement<object>(`
  insert into operator_failure as f (kind, name, failures, last_ms) values ($1, $2, 1, $3)
  on conflict (kind, name) do update set failures = case when f.last_ms < $4 then 1 else f.failures + 1 end, last_ms = $3
  where f.last_ms < $4 or f.failures < ${freeTries}
    or f.last_ms <= $3 - least($5::float8, $6::float8 * 2 ^ least(f.failures - ${freeTries}, 20))
  returning failures`)
const clear = statement<object>(`delete from operator_failure where kind = $1 and name = $2`)
const forget = statement<object>(`delete from operator_failure where last_ms <= $1`)

/** Whether this may be tried now. */
export const mayTry = async (runner: Runner, { kind, name }: Tried, now: number): Promise<boolean> =>
  (await runner.run(count, [kind, name.slice(0, 100), now, now - mostWaitMs, mostWaitMs, firstWaitMs])).length > 0

export const forgive = (runner: Runner, { kind, name }: Tried): Promise<unknown> => runner.run(clear, [kind, name.slice(0, 100)])

export const forgetFailures = async (runner: Runner, now: number): Promise<void> => {
  await runner.run(forget, [now - mostWaitMs])
}
