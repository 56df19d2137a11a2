import { randomUUID } from 'node:crypto'
import { createServer, type AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { secret } from '../../src/base/secret.ts'
import { codeAt, stepAt } from '../../src/entry/totp.ts'
import { roles } from '../../src/storage/grants.ts'
import { statement } from '../../src/storage/pool.ts'
import { cliEnded, onDatabase, runCli, servingOn, spawnTollgate, type Sandbox, type Spawned } from '../sandbox.ts'

/** A page, as a browser asks for it. */
export interface Asked {
  /** With its query. */
  path: string
  /** Posted, with what shows that it comes from the console. */
  form?: Readonly<Record<string, string>>
  /** A file of any length: no more than its beginning is taken. */
  isFile?: true
}

/** How long an answer took: to its first byte, and to its last. */
export interface Answered {
  status: number
  firstMs: number
  ms: number
  text: string
}

/** A session in the console. */
export interface Visitor {
  ask(asked: Asked): Promise<Answered>
}

export interface BenchConsole {
  /** Another session of the same user, an owner. */
  enter(): Promise<Visitor>
  stop(): Promise<void>
}

const user = 'bench'
const startWithinMs = 60_000

/** The console of a sandbox as in production, with a process and a database user of its own. */
export async function startConsole(sandbox: Sandbox): Promise<BenchConsole> {
  const { directory } = sandbox
  const url = new URL(sandbox.databaseUrl)
  ;[url.username, url.password] = ['bench_console', randomUUID()]
  await onDatabase(sandbox, (pool) =>
    pool.run(statement(`create role ${url.username} login password '${url.password}' in role ${roles.operator}`)),
  )
  const port = await freePort()
  const origin = `http://console.localhost:${port}`
  const settings = { ...servingOn(sandbox), DATABASE_URL: url.href, CONSOLE_URL: origin }
  const spawned = spawnTollgate(directory, ['console'], settings)
  const base = `http://127.0.0.1:${port}`
  await untilServing(base, spawned)
  await runCli(sandbox, ['user', 'add', user, '--role', 'owner'])
  let isEnrolled = false
  async function enter(): Promise<Visitor> {
    const { output } = await cliEnded(sandbox, ['user', 'invite', user, '--json'])
    const { path } = JSON.parse(output) as { path: string }
    const entered = await fetch(base + path, { ...posted(origin, {}), redirect: 'manual' })
    const [cookie] = /^[^;]+/.exec(entered.headers.get('set-cookie') ?? '') ?? []
    if (cookie === undefined) throw new Error(`The console refused the sign-in: ${entered.status}`)
    const me = await (await fetch(`${base}/me`, { headers: { cookie } })).text()
    const form = /name="form" value="([^"]+)"/.exec(me)![1]!
    const visitor = visitorOf({ base, origin, cookie, form })
    if (!isEnrolled) await enrol(visitor, me)
    isEnrolled = true
    return visitor
  }
  return { enter, stop: () => spawned.stop() }
}

/** A user sees nothing before the second factor. */
async function enrol(visitor: Visitor, me: string): Promise<void> {
  const key = /name="key" value="([^"]+)"/.exec(me)![1]!
  const code = codeAt(secret(Buffer.from(key, 'base64url')), stepAt(Date.now()))
  const { text } = await visitor.ask({ path: '/me', form: { do: 'totp', key, code } })
  if (!/second factor is set/.test(text)) throw new Error('The console took no second factor.')
}

const posted = (origin: string, form: Readonly<Record<string, string>>) => ({
  method: 'POST',
  headers: { origin, 'sec-fetch-site': 'same-origin' },
  body: new URLSearchParams(form),
})

const visitorOf = ({ base, origin, cookie, form }: Record<'base' | 'origin' | 'cookie' | 'form', string>): Visitor => ({
  async ask({ path, form: fields, isFile }) {
    const { headers, ...how } = fields ? posted(origin, { ...fields, form }) : { headers: {} }
    const began = performance.now()
    let answer = await fetch(base + path, { ...how, headers: { ...headers, cookie }, redirect: 'manual' })
    // A list that was asked for by a form is at an address of its own.
    const to = answer.headers.get('location')
    if (to !== null) answer = await fetch(base + to, { headers: { cookie }, redirect: 'manual' })
    const firstMs = performance.now() - began
    const text = isFile ? await beginningOf(answer) : await answer.text()
    return { status: answer.status, firstMs, ms: performance.now() - began, text }
  },
})

async function beginningOf(answer: Response): Promise<string> {
  for await (const chunk of answer.body!) return Buffer.from(chunk as Uint8Array).toString()
  return ''
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function untilServing(base: string, { ended }: Spawned): Promise<void> {
  const end = performance.now() + startWithinMs
  while (!(await fetch(`${base}/sign-in`).catch(() => undefined))?.ok) {
    const output = ended()
    if (output !== undefined) throw new Error(`The console ended:\n${output}`)
    if (performance.now() > end) throw new Error(`The console did not start within ${startWithinMs / 1_000} s.`)
    await pause(50)
  }
}
