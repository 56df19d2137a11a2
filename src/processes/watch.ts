/** The operator's view of several processes at one port: the answers of all in one. */
import type { Answer } from '../http/server.ts'

/** A process, and what it answered; nothing if it did not. */
export interface Said {
  slot: number
  answer: Answer | undefined
}

/** While the parent answers. */
export const healthy: Answer = { status: 200, type: 'application/json;charset=utf-8', body: '{"status":"ok"}\n' }

/** How each place among the processes is filled. */
export interface FilledSlot {
  slot: number
  isServing: boolean
  starts: number
}

/**
 * Ready if every process is that serves, and there is one. A process that is being started again
 * accepts no connections, so the others are ready without it. A process that is ready may have
 * reasons too, of cells that are away.
 */
export function readyOf(all: readonly Said[]): Answer {
  const reasons = all.flatMap(({ slot, answer }) => reasonsOf(answer).map((reason) => `process ${slot}: ${reason}`))
  if (all.length === 0) reasons.push('no process serves')
  const isReady = all.length > 0 && all.every(({ answer }) => answer?.status === 200)
  return {
    status: isReady ? 200 : 503,
    type: 'application/json;charset=utf-8',
    body: `${JSON.stringify({ status: isReady ? 'ready' : 'not ready', reasons })}\n`,
  }
}

function reasonsOf(answer: Answer | undefined): readonly string[] {
  if (!answer) return ['it does not answer']
  const { reasons }: { reasons: string[] } = JSON.parse(String(answer.body))
  return reasons
}

/**
 * The metrics of all processes, with the label `slot`. *Rejected:* sums, in which a
 * process that lost its lease disappears; Prometheus sums what it is asked to.
 */
export function metricsOf(all: readonly Said[], filled: readonly FilledSlot[]): Answer {
  const families = new Map<string, { head: string[]; samples: string[] }>()
  for (const { slot, answer } of all) {
    let family = { head: [] as string[], samples: [] as string[] }
    for (const line of String(answer?.body ?? '').split('\n')) {
      const [, what, name] = /^# (HELP|TYPE) (\S+)/.exec(line) ?? []
      if (name !== undefined) {
        family = families.get(name) ?? { head: [], samples: [] }
        families.set(name, family)
        if (!family.head.some((one) => one.startsWith(`# ${what} `))) family.head.push(line)
      } else if (line !== '') family.samples.push(withSlot(line, slot))
    }
  }
  const texts = [...families.values()].flatMap(({ head, samples }) => [...head, ...samples])
  const type = all.find(({ answer }) => answer)?.answer?.type ?? 'text/plain; version=0.0.4; charset=utf-8'
  return { status: 200, type, body: `${[...ownMetrics(filled), ...texts].join('\n')}\n` }
}

/** A sample is `name value` or `name{labels} value`. */
const withSlot = (sample: string, slot: number): string =>
  sample.replace(/^([\w:]+)(?:\{(.*)\})? /, (_, name: string, labels = '') => {
    const others = labels === '' ? '' : `,${labels}`
    return `${name}{slot="${slot}"${others}} `
  })

const ownMetrics = (filled: readonly FilledSlot[]): string[] => [
  '# HELP tollgate_process_serving 1 while there is a process of this slot that serves',
  '# TYPE tollgate_process_serving gauge',
  ...filled.map(({ slot, isServing }) => `tollgate_process_serving{slot="${slot}"} ${isServing ? 1 : 0}`),
  '# HELP tollgate_process_starts_total How often a process of this slot was started',
  '# TYPE tollgate_process_starts_total counter',
  ...filled.map(({ slot, starts }) => `tollgate_process_starts_total{slot="${slot}"} ${starts}`),
]
