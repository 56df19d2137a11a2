import { Agent, request } from 'undici'
import { median, rounded } from '../figures/figures.ts'
import type { Sandbox } from '../sandbox.ts'
import { worstRequests, type WorstRequest } from './worst-bodies.ts'

export const bodies = {
  name: 'bodies',
  means: 'the worst bodies that a stranger can send to each route: for how long the gateway serves no other client',
}

/** The names are those of the JSON line. */
export interface BodyRow {
  bench: 'bodies'
  route: string
  what: string
  bytes: number
  /** The status of the answers; the first that differs where they differ. */
  answer: number
  answer_p50_ms: number | null
  /** The longest turn of the gateway's event loop meanwhile. */
  longest_turn_ms: number | null
}

const sent = 40
const atOnce = 4
/** The gateway looks at its event loop this often, and counts the pause in what it measures. */
const precisionMs = 10

/**
 * Sends each body 40 times, four together, to a sandbox that does nothing else. The first row is of
 * a request that has nothing to read.
 */
export async function measureBodies(
  { site, operatorUrl }: Sandbox,
  signal: AbortSignal,
  onRow: (row: BodyRow) => void,
): Promise<BodyRow[]> {
  const client = new Agent({ connections: atOnce })
  const url = `${operatorUrl}/health`
  const idle: WorstRequest = { route: '/health', what: 'nothing to read', method: 'GET', url, headers: {}, body: '' }
  const rows: BodyRow[] = []
  try {
    for (const one of [idle, ...worstRequests(site)]) {
      await sendAll(one, client, signal)
      await longestTurnMs(operatorUrl)
      const answers = await sendAll(one, client, signal)
      const [first] = answers
      const row: BodyRow = {
        bench: 'bodies',
        route: one.route,
        what: one.what,
        bytes: Buffer.byteLength(one.body),
        answer: (answers.find(({ status }) => status !== first!.status) ?? first!).status,
        answer_p50_ms: rounded(median(answers.map(({ ms }) => ms)), 1),
        longest_turn_ms: rounded(await longestTurnMs(operatorUrl), 1),
      }
      rows.push(row)
      onRow(row)
    }
  } finally {
    await client.close()
  }
  return rows
}

/** Whether the gateway replied, if only to refuse the body; a 5xx is a failure. */
export const isAnswered = ({ answer }: BodyRow): boolean => answer < 500

async function sendAll(
  { method, url, headers, body }: WorstRequest,
  client: Agent,
  signal: AbortSignal,
): Promise<{ status: number; ms: number }[]> {
  const answers: { status: number; ms: number }[] = []
  const sender = async () => {
    for (let n = 0; n < sent / atOnce; n++) {
      const began = performance.now()
      const answer = await request(url, { method, headers, dispatcher: client, signal, ...(method === 'POST' ? { body } : {}) })
      await answer.body.dump()
      answers.push({ status: answer.statusCode, ms: performance.now() - began })
    }
  }
  await Promise.all(Array.from({ length: atOnce }, sender))
  return answers
}

/** The longest turn since the last call: reading the metrics resets it. */
async function longestTurnMs(operatorUrl: string): Promise<number | undefined> {
  const { body } = await request(`${operatorUrl}/metrics`)
  const seconds = /^nodejs_eventloop_lag_max_seconds (\S+)$/m.exec(await body.text())?.[1]
  return seconds === undefined ? undefined : Math.max(0, Number(seconds) * 1_000 - precisionMs)
}
