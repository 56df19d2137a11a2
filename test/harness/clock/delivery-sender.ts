import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openSender, type Sender } from '../../../src/delivery/send.ts'

type Settings = Parameters<typeof openSender>[0]

const log = openLog({ level: 'fatal', destination: process.stderr })

/** A sender of callbacks alone, by GET, which takes no process for dead. */
export const senderOf = (parts: Pick<Settings, 'store' | 'outgoing' | 'clock' | 'heartbeat' | 'maxInHand'>): Sender =>
  openSender({
    ...parts,
    kinds: {
      'card mapping': { render: () => Promise.resolve(undefined), judge: () => 'never' },
      callback: {
        render: async ({ url }) => ({ method: 'GET', url, policy: { plainHttp: true, loopbackAnyPort: true } }),
        judge: (reply) => (reply.is === 'answered' && reply.status === 200 ? 'received' : 'again'),
      },
    },
    sign: (unsigned) => unsigned,
    random: systemRandom,
    judge: () => Promise.resolve(alone),
    log,
    timeoutMs: 10_000,
    sweepMs: 200,
  })

/** The judgement of process 1, that none is dead. */
export const alone = { processId: 1n, silent: [] }
