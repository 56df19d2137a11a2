import { seeded, type Effect, type Match } from '../../simulators/acquirer/faults.ts'

/** Acts of one track follow one another; tracks run side by side, so that troubles meet. */
export type Track = 'gateway' | 'database' | 'fault' | 'other fault' | 'line' | 'merchant'

export type Trouble =
  | { is: 'gateway killed'; handOver: boolean }
  | { is: 'gateway restarted'; handOver: boolean }
  | { is: 'gateway paused'; forMs: number }
  | { is: 'database killed' }
  | { is: 'fault'; match: Match; do: Effect; forMs: number }
  | { is: 'line refused'; forMs: number }
  | { is: 'line cut' }
  | { is: 'line slow'; latencyMs: number; forMs: number }
  | { is: 'acquirer paused'; forMs: number }
  | { is: 'merchant refuses'; forMs: number }
  | { is: 'merchant hangs'; forMs: number }

export interface Act {
  track: Track
  /** From the start of the run. What the track does before may make it later, never earlier. */
  atMs: number
  trouble: Trouble
}

type Draw = () => number

const between = (draw: Draw, least: number, most: number): number => Math.round(least + draw() * (most - least))

export const pick = <T>(draw: Draw, from: readonly T[]): T => from[Math.floor(draw() * from.length)]!

/** Each comes once before any comes again, so that a short run has seen them all. */
function bag<T>(draw: Draw, items: readonly T[]): () => T {
  let left: T[] = []
  return () => {
    if (left.length === 0) left = [...items]
    return left.splice(Math.floor(draw() * left.length), 1)[0]!
  }
}

/** Every act of a run, by seed and length alone. */
export function planOf(seed: number, lengthMs: number): Act[] {
  const acts: Act[] = []
  const track = (
    name: Track,
    salt: number,
    firstMs: number,
    gapMs: readonly [number, number],
    next: (draw: Draw) => () => Trouble,
  ) => {
    const draw = seeded(seed * 16 + salt)
    const trouble = next(draw)
    for (let atMs = between(draw, firstMs / 2, firstMs); atMs < lengthMs - 2_000; atMs += between(draw, ...gapMs))
      acts.push({ track: name, atMs, trouble: trouble() })
  }
  track('gateway', 1, 6_000, [4_000, 9_000], gatewayTroubles)
  track('database', 2, 10_000, [7_000, 16_000], () => () => ({ is: 'database killed' }))
  track('fault', 3, 2_000, [1_500, 4_000], faults)
  track('other fault', 4, 4_000, [2_500, 6_000], faults)
  track('line', 5, 5_000, [4_000, 9_000], lineTroubles)
  track('merchant', 6, 8_000, [6_000, 12_000], merchantTroubles)
  return acts.sort((a, b) => a.atMs - b.atMs)
}

function gatewayTroubles(draw: Draw): () => Trouble {
  const next = bag(draw, ['killed', 'killed', 'killed', 'paused', 'restarted', 'paused'] as const)
  return () => {
    const what = next()
    if (what === 'paused') return { is: 'gateway paused', forMs: between(draw, 1_000, 8_000) }
    return { is: `gateway ${what}`, handOver: draw() < 0.6 }
  }
}

function lineTroubles(draw: Draw): () => Trouble {
  const next = bag(draw, ['refused', 'cut', 'slow', 'cut', 'paused'] as const)
  return () => {
    switch (next()) {
      case 'refused':
        return { is: 'line refused', forMs: between(draw, 500, 5_000) }
      case 'cut':
        return { is: 'line cut' }
      case 'slow':
        return { is: 'line slow', latencyMs: pick(draw, [120, 380, 1_500]), forMs: between(draw, 1_000, 4_000) }
      case 'paused':
        return { is: 'acquirer paused', forMs: between(draw, 500, 3_000) }
    }
  }
}

function merchantTroubles(draw: Draw): () => Trouble {
  const next = bag(draw, ['refuses', 'hangs'] as const)
  return () => ({ is: `merchant ${next()}`, forMs: between(draw, 1_000, 4_000) })
}

function faults(draw: Draw): () => Trouble {
  const kinds = [
    'decline',
    'delay_ms',
    'no_answer',
    'duplicate',
    'answer_after_reversal',
    'wrong_stan',
    'garbage',
    'half_frame',
    'close',
  ]
  const next = bag(draw, kinds)
  return () => {
    const effect = effectOf(next(), draw)
    const message =
      'answer_after_reversal' in effect
        ? 'authorisation'
        : pick(draw, ['authorisation', 'authorisation', 'reversal', 'any'] as const)
    const cuts = 'garbage' in effect || 'half_frame' in effect || 'close' in effect
    return {
      is: 'fault',
      // What ends the connection takes everything in flight with it; a few of those go a long way.
      match: {
        message,
        probability: cuts ? 0.05 : between(draw, 10, 50) / 100,
        seed: between(draw, 0, 1e9),
        times: cuts ? 4 : 60,
      },
      do: effect,
      forMs: between(draw, 500, 4_000),
    }
  }
}

function effectOf(kind: string, draw: Draw): Effect {
  if (kind === 'decline') return { decline: pick(draw, ['100', '116', '208', '909', '911']) }
  // The gate waits five seconds: some of these answers are late, others too late.
  if (kind === 'delay_ms') return { delay_ms: pick(draw, [200, 900, 3_000, 4_990, 5_010, 7_000]) }
  return { [kind]: true } as unknown as Effect
}

/** One line for the time line. */
export function describe(trouble: Trouble): string {
  const seconds = 'forMs' in trouble ? ` for ${(trouble.forMs / 1_000).toFixed(1)} s` : ''
  switch (trouble.is) {
    case 'gateway killed':
      return 'kill -9 of the gateway'
    case 'gateway restarted':
      return 'SIGTERM to the gateway'
    case 'gateway paused':
      return `SIGSTOP of the gateway${seconds}`
    case 'database killed':
      return 'kill -9 of the PostgreSQL postmaster'
    case 'fault': {
      const { message, probability } = trouble.match
      return `acquirer: ${JSON.stringify(trouble.do)} to ${message} messages, chance ${probability}${seconds}`
    }
    case 'line refused':
      return `acquirer: connections cut and refused${seconds}`
    case 'line cut':
      return 'acquirer: connections cut'
    case 'line slow':
      return `acquirer: every answer ${trouble.latencyMs} ms later${seconds}`
    case 'acquirer paused':
      return `SIGSTOP of the acquirer${seconds}`
    case 'merchant refuses':
      return `merchant answers callbacks with 500${seconds}`
    case 'merchant hangs':
      return `merchant does not answer callbacks${seconds}`
  }
}
