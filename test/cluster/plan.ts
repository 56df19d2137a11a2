import { seeded } from '../../simulators/acquirer/faults.ts'

/** Seconds after which Patroni gives the key of a primary that says nothing to another. */
export const ttlS = 20

/** The longest pause of a merchant that moves: `merchant move` ends a longer one. */
export const pauseAtMostS = 20

/**
 * How long there may be no service: Patroni releases its key, or the key has to run out; or a
 * merchant moves, and its requests have to be let in again.
 */
export const aimsMs = { released: 10_000, ranOut: ttlS * 1_000 + 10_000, paused: pauseAtMostS * 1_000 + 5_000 } as const

/** What carries the installation. */
export type Carrier = 'patroni' | 'citus'

/** What is done to whom, and how long there may be no service for it. */
// oxfmt-ignore
export const kinds = {
  'primary killed':       { of: 'database', aim: 'released', does: 'kill -9 of PostgreSQL; its Patroni looks on' },
  'primary node stopped': { of: 'database', aim: 'released', does: 'SIGTERM to Patroni, which stops PostgreSQL' },
  'primary node killed':  { of: 'database', aim: 'ranOut',   does: 'kill -9 of Patroni and PostgreSQL' },
  'primary frozen':       { of: 'database', aim: 'ranOut',   does: 'SIGSTOP of PostgreSQL; its Patroni looks on' },
  'primary node frozen':  { of: 'database', aim: 'ranOut',   does: 'SIGSTOP of Patroni and PostgreSQL' },
  'switchover':           { of: 'database', aim: 'released', does: 'the operator asks Patroni for another primary' },
  'standby killed':       { of: 'database', aim: 'released', does: 'kill -9 of the synchronous PostgreSQL' },
  'standby node killed':  { of: 'database', aim: 'released', does: 'kill -9 of Patroni and the synchronous PostgreSQL' },
  'standby node frozen':  { of: 'database', aim: 'ranOut',   does: 'SIGSTOP of Patroni and the synchronous PostgreSQL' },
  'etcd killed':          { of: 'database', aim: 'released', does: 'kill -9 of an etcd member' },
  'etcd frozen':          { of: 'database', aim: 'released', does: 'SIGSTOP of an etcd member' },
  'proxy killed':         { of: 'gateway',  aim: 'released', does: 'kill -9 of the HAProxy of a gateway' },
  'proxy frozen':         { of: 'gateway',  aim: 'released', does: 'SIGSTOP of the HAProxy of a gateway' },
  'cell moved':           { of: 'database', aim: 'released', does: 'citus_schema_move of a cell to the other worker' },
  'move cut off':         { of: 'database', aim: 'released', does: 'kill -9 of the worker that a cell is moving to' },
  'merchant moved':       { of: 'database', aim: 'paused',   does: 'merchant move to the other cell, and back' },
  'merchant cut off':     { of: 'database', aim: 'paused',   does: 'kill -9 of the worker that a merchant is moving to' },
  'worker killed':        { of: 'database', aim: 'released', does: 'kill -9 of the PostgreSQL of a worker' },
  'worker frozen':        { of: 'database', aim: 'released', does: 'SIGSTOP of the PostgreSQL of a worker' },
  'coordinator killed':   { of: 'database', aim: 'released', does: 'kill -9 of the PostgreSQL of the coordinator' },
  'gateway killed':       { of: 'gateway',  aim: 'released', does: 'kill -9 of a gateway' },
  'gateway frozen':       { of: 'gateway',  aim: 'released', does: 'SIGSTOP of a gateway' },
} as const

export type Kind = keyof typeof kinds

const ofBoth = (kind: Kind): boolean => kind.startsWith('gateway')
const ofCitus = (kind: Kind): boolean => /^(?:cell|move|merchant|worker|coordinator) /.test(kind)

export const kindsOf = (carrier: Carrier): Kind[] =>
  (Object.keys(kinds) as Kind[]).filter((kind) => ofBoth(kind) || ofCitus(kind) === (carrier === 'citus'))

export interface Act {
  kind: Kind
  /** Which etcd member, proxy or gateway; the database's part is the one of its role. */
  which: number
  /** How long it is frozen, or dead before it is started again. */
  forMs: number
  /** How long all is well before it. */
  restMs: number
}

/** Troubles after which no plan starts anything: Patroni does it, or nothing was ended. */
const spans: Partial<Record<Kind, readonly [number, number]>> = {
  'primary killed': [0, 0],
  'standby killed': [0, 0],
  switchover: [0, 0],
  // Longer than the key lasts, mostly.
  'primary node killed': [15_000, 35_000],
  'primary node frozen': [15_000, 35_000],
  'primary frozen': [10_000, 35_000],
  'etcd killed': [2_000, 15_000],
  'etcd frozen': [2_000, 15_000],
  'cell moved': [0, 0],
  'merchant moved': [0, 0],
}
const usualSpan = [2_000, 12_000] as const

/**
 * The acts of a run in order, by seed alone. Each kind comes once before any comes again. An act
 * begins when all is well after the one before, so how many are reached depends on the machine.
 */
export function planOf(seed: number, acts: number, all: readonly Kind[] = kindsOf('patroni')): Act[] {
  const draw = seeded(seed)
  let left: Kind[] = []
  return Array.from({ length: acts }, () => {
    if (left.length === 0) left = [...all]
    const kind = left.splice(Math.floor(draw() * left.length), 1)[0]!
    const [least, most] = spans[kind] ?? usualSpan
    const forMs = Math.round(least + draw() * (most - least))
    return { kind, which: Math.floor(draw() * 6), forMs, restMs: Math.round(1_000 + draw() * 3_000) }
  })
}

export function describe({ kind, forMs }: Act): string {
  const span = `for ${(forMs / 1_000).toFixed(1)} s`
  const more = forMs === 0 ? '' : kind.endsWith('frozen') ? `, ${span}` : `, started again after ${(forMs / 1_000).toFixed(1)} s`
  return `${kind}: ${kinds[kind].does}${more}`
}
