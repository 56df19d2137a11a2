// The bare post, a yardstick: what node:http takes to read a form of the size of a sale, make one
// SHA-1 of it and send a reply of a sale's size.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { barePost } from './bare-post.ts'
import type { Load } from './drive.ts'
import type { ServerTime } from './exchange.ts'
import type { Site } from './merchant.ts'

export interface Posts {
  perSecond: number
  /** Processor time of a request in the server, and in the load process. */
  serverUs: number
  loadUs: number
}

/** After so many, V8 has compiled what it will. */
const ramp = 5_000
const rampMs = 60_000
const withinMs = 20_000

export async function measurePosts(load: Load, site: Site, connections: number, measureMs: number): Promise<Posts> {
  // A session of its own, as the load process has: the bench stops everybody in order.
  const server = fork(fileURLToPath(new URL('./post-server.js', import.meta.url)), { detached: true })
  const answer = async () => (await once(server, 'message')) as [unknown]
  const cpuUs = async () => {
    server.send('time', () => {})
    const [time] = await answer()
    return (time as ServerTime).us
  }
  try {
    const [port] = await answer()
    let before: Promise<number> | undefined
    let after: Promise<number> | undefined
    const baseUrl = `http://127.0.0.1:${String(port)}/`
    const order = { bench: barePost.name, site: { ...site, baseUrl }, inFlight: connections, ramp, rampMs, measureMs, withinMs }
    const {
      measured,
      windowMs,
      cpuUs: loadUs,
    } = await load.run(order, ({ is }) => {
      if (is === 'opened') before = cpuUs()
      if (is === 'closed') after = cpuUs()
    })
    if (measured === 0) throw new Error('The server of the bare post answered nothing.')
    const serverUs = (await after!) - (await before!)
    return { perSecond: (measured / windowMs) * 1_000, serverUs: serverUs / measured, loadUs: loadUs / measured }
  } finally {
    server.kill('SIGKILL')
  }
}
