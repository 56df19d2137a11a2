import assert from 'node:assert/strict'
import { fork, spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { openLog } from '../../src/base/log.ts'
import { systemRandom } from '../../src/base/random.ts'
import { Processes } from '../../src/cli/processes.ts'
import { openAuthority, type Authority } from '../harness/directory.ts'
import { openHandClock } from '../harness/hand-clock.ts'
import { closing, openWorld } from '../harness/opening.ts'
import { freePort } from '../harness/port.ts'
import { pidsOf, startedIn } from '../harness/processes.ts'
import { writeResultsConfig } from '../harness/results-config.ts'
import { startServe } from '../harness/serve.ts'
import { until } from '../harness/until.ts'

/** `serve --processes`: what its processes share, and when their parent starts one again. */

const main = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'tollgate-processes-'))
closing({ close: () => rmSync(folder, { recursive: true, force: true }) })

/** Serves; the file says with which exit code it ends instead. */
const ends = join(folder, 'ends')
const program = join(folder, 'program.mjs')
writeFileSync(
  program,
  `import { existsSync, readFileSync } from 'node:fs'
  if (existsSync(${JSON.stringify(ends)})) process.exit(Number(readFileSync(${JSON.stringify(ends)}, 'utf8')))
  process.on('message', ({ says }) => says === 'stop' && process.disconnect())
  process.send({ says: 'serves', ports: { port: 1, operatorPort: 2 } })`,
)

/** Serves, and begins to stop when it is to accept connections, but does not end. */
const stopper = join(folder, 'stopper.mjs')
writeFileSync(
  stopper,
  `process.on('message', ({ says, accepts }) => {
    if (says === 'stop') process.disconnect()
    else if (accepts) process.send({ says: 'stops' })
  })
  process.send({ says: 'serves', ports: { port: 1, operatorPort: 2 } })`,
)

/** A parent of such processes, on a clock that stands; what it logs, and its end. */
function openParent(count = 1, of = program) {
  const clock = openHandClock(0)
  const children: ChildProcess[] = []
  const pauses: number[] = []
  const accepting: number[] = []
  const write = (line: string) => {
    const { pause_ms: pause, msg, slot }: { pause_ms?: number; msg: string; slot: number } = JSON.parse(line)
    if (msg === 'a process accepts connections') accepting.push(slot)
    if (pause !== undefined) pauses.push(pause)
  }
  const log = openLog({ level: 'info', destination: { write } })
  const start = () => {
    const child = fork(of)
    children.push(child)
    return child
  }
  let served = 0
  let signal: (why: string) => void = () => {}
  const stopped = new Promise<string>((resolve) => (signal = resolve))
  const processes = new Processes({
    count,
    spread: 'full',
    idleMs: () => 0,
    start,
    onServing: () => served++,
    clock,
    random: systemRandom,
    log,
  })
  const ending = processes.run(stopped)
  return { clock, children, pauses, accepting, ending, signal, served: () => served }
}

const serving = ({ served }: ReturnType<typeof openParent>) => until(served, (count) => count === 1)

test('a process that ends is started again at once, one that ends soon after later and later, and then all ends', async () => {
  const parent = openParent()
  const { clock, children, pauses, ending } = parent
  await serving(parent)
  clock.pass(10_000)
  children[0]!.kill('SIGKILL')
  await until(
    () => pauses.length,
    (count) => count === 1,
  )
  writeFileSync(ends, '7')
  for (let at = 1; at < 5; at++) {
    clock.pass(pauses.at(-1)!)
    assert.equal(children.length, at + 1)
    await until(
      () => pauses.length,
      (count) => count === at + 1,
    )
  }
  clock.pass(pauses.at(-1)!)
  assert.deepEqual(await ending, { why: 'process 0 of 1 cannot serve: exit code 7', code: 7 })
  assert.deepEqual(pauses, [0, 0, 1_000, 2_000, 4_000])
  rmSync(ends)
})

test('where the first process cannot serve, nothing is tried again', async () => {
  writeFileSync(ends, '3')
  const { ending, pauses } = openParent()
  assert.deepEqual(await ending, { why: 'process 0 of 1 cannot serve: exit code 3', code: 3 })
  assert.deepEqual(pauses, [])
  rmSync(ends)
})

test('a parent that is asked to stop starts nothing any more', async () => {
  const parent = openParent()
  await serving(parent)
  parent.signal('SIGTERM')
  assert.deepEqual(await parent.ending, { why: 'SIGTERM', code: 0 })
  assert.deepEqual([parent.children.length, parent.children[0]!.exitCode, parent.pauses], [1, 0, []])
})

test('while the one that accepts stops by itself another one accepts', async () => {
  const { accepting, children, signal, ending } = openParent(2, stopper)
  await until(
    () => accepting,
    ([first, second]) => first === 0 && second === 1,
  )
  assert.deepEqual([children.length, children[0]!.exitCode], [2, null])
  signal('SIGTERM')
  for (const child of children) child.kill('SIGKILL')
  await ending
})

const moduleAt = (path: string) => JSON.stringify(fileURLToPath(new URL(`../../src/${path}.js`, import.meta.url)))
const orphan = join(folder, 'orphan.mjs')
writeFileSync(
  orphan,
  `import { createServer } from 'node:net'
  import { systemClock } from ${moduleAt('base/clock')}
  import { openSlot } from ${moduleAt('gateway/slot')}
  const slot = openSlot(process.env, process, systemClock)
  const socket = await slot.socket('api', { host: '127.0.0.1', port: 0 })
  const entrance = socket.enter(createServer(), () => {})
  slot.serves({ port: socket.port, operatorPort: process.pid, connectionsUsed: () => 0 })
  const why = await slot.ended
  void entrance.close().then(() => console.log(JSON.stringify({ why })))
  setInterval(() => {}, 1_000)`,
)
const parentOf = join(folder, 'parent.mjs')
writeFileSync(
  parentOf,
  `import { systemClock as clock } from ${moduleAt('base/clock')}
  import { openLog } from ${moduleAt('base/log')}
  import { systemRandom as random } from ${moduleAt('base/random')}
  import { untilSignal } from ${moduleAt('base/signals')}
  import { starterOf } from ${moduleAt('cli/process-start')}
  import { Processes } from ${moduleAt('cli/processes')}
  const log = openLog({ level: 'silent', destination: process.stdout })
  const start = starterOf(${JSON.stringify(orphan)}, [], process.env)
  const onServing = (ports) => console.log(JSON.stringify(ports))
  await new Processes({ count: 1, spread: 'full', idleMs: () => 0, start, onServing, clock, random, log }).run(untilSignal())`,
)

/** Whether somebody may listen at this port. */
const isFree = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })

// oxfmt-ignore
const ended = [
  ['its parent is gone',  'SIGKILL', false],
  ['its parent stops',    'SIGTERM', true],
] as const
for (const [why, signal, isFreed] of ended)
  test(`a process that stops because ${why} ${isFreed ? 'frees' : 'keeps'} the port while it has work to end`, async () => {
    const parent = spawn(process.execPath, [parentOf], { stdio: ['ignore', 'pipe', 'inherit'] })
    const lines = createInterface(parent.stdout)[Symbol.asyncIterator]()
    const line = async () => JSON.parse((await lines.next()).value) as { port: number; operatorPort: number; why: string }
    const { port, operatorPort: pid } = await line()
    try {
      parent.kill(signal)
      assert.equal((await line()).why, why)
      assert.equal(await isFree(port), isFreed)
    } finally {
      process.kill(pid, 'SIGKILL')
    }
    await until(
      () => isFree(port),
      (free) => free,
    )
  })

const refused = (env: Record<string, string>, ...args: string[]) => {
  const { PATH = '' } = process.env
  const { status, stderr } = spawnSync(process.execPath, [main, 'serve', ...args], {
    env: { PATH, PORT: '0', ...env },
    encoding: 'utf8',
    timeout: 120_000,
  })
  return { status, stderr }
}

test('what is wrong with the settings is said once, and the exit code is that of a single process', () => {
  const { status, stderr } = refused({}, '--processes', '3')
  assert.equal(status, 2, stderr)
  assert.equal(stderr.split('DATABASE_URL is missing').length, 2, stderr)
  assert.match(stderr, /^The gateway ends: process 0 of 3 cannot serve: exit code 2\.$/m)
  for (const PROCESSES of ['0', '65', 'two']) {
    const bad = refused({ PROCESSES })
    assert.equal(bad.status, 2, bad.stderr)
    assert.match(bad.stderr, new RegExp(`PROCESSES is "${PROCESSES}", not a number of processes from 1 to 64`))
  }
  const odd = refused({ SPREAD: 'odd' })
  assert.equal(odd.status, 2, odd.stderr)
  assert.match(odd.stderr, /SPREAD is "odd", neither full nor even/)
  const tooMany = refused({}, '--processes', '65')
  assert.equal(tooMany.status, 2, tooMany.stderr)
  assert.match(refused({ TOLLGATE_KEY_FD: '99', PROCESSES: '2' }).stderr, /TOLLGATE_KEY_FD cannot be read: EBADF/)
})

test('a port that somebody has is named, with exit code 1', async () => {
  const world = await openWorld()
  await assert.rejects(
    startServe(world, undefined, { PROCESSES: '2', PORT: new URL(world.baseUrl).port }),
    /EADDRINUSE.*[^]*process 0 of 2 cannot serve: exit code 1/,
  )
  const operatorPort = new URL(world.operatorUrl).port
  await assert.rejects(
    startServe(world, undefined, { PROCESSES: '2', OPERATOR_PORT: operatorPort }),
    /The gateway ends: .*EADDRINUSE/,
  )
})

const [before, after] = [await openAuthority(), await openAuthority()]
const tls = { TLS_CERT_FILE: join(folder, 'api.pem'), TLS_KEY_FILE: join(folder, 'api.key') }
function put(party: Authority): void {
  writeFileSync(tls.TLS_CERT_FILE, party.of('gateway-results').cert)
  writeFileSync(tls.TLS_KEY_FILE, party.of('gateway-results').key.reveal(), { mode: 0o600 })
}

/** The certificates that a port shows to so many connections. */
async function shown(port: number, times: number): Promise<string[]> {
  const one = async () => {
    const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false }).on('error', () => {})
    await once(socket, 'secureConnect')
    const { raw } = socket.getPeerCertificate()
    socket.destroy()
    return raw.toString('base64')
  }
  return Promise.all(Array.from({ length: times }, one))
}
const derOf = (pem: string): string => new X509Certificate(pem).raw.toString('base64')

test('all share the ports of the API and of results, renew certificates, and get a key that can be read once', async () => {
  const world = await openWorld()
  const resultsPort = await freePort()
  const results = writeResultsConfig(world, resultsPort)
  put(before)
  const env = {
    ...tls,
    THREE_DS_CONFIG: results.file,
    PUBLIC_URL: 'https://pay.example',
    PROCESSES: '2',
    SPREAD: 'even',
    TOLLGATE_KEY: '',
  }
  const gateway = await startServe(world, undefined, env, join(world.directory, 'keys', 'master.key'))
  try {
    const port = Number(new URL(gateway.world.baseUrl).port)
    const [old, renewed] = [before, after].map((party) => derOf(party.of('gateway-results').cert))
    assert.deepEqual(new Set(await shown(port, 20)), new Set([old]))
    assert.deepEqual(new Set(await shown(resultsPort, 20)), new Set([derOf(readFileSync(results.certificate, 'utf8'))]))
    put(after)
    await until(
      () => shown(port, 20),
      (all) => all.every((one) => one === renewed),
    )
    process.kill(pidsOf(gateway, 0)[0]!, 'SIGKILL')
    await startedIn(gateway, 0, 2)
    assert.deepEqual(new Set(await shown(port, 20)), new Set([renewed]))
    assert.ok((await shown(resultsPort, 20)).length === 20)
  } finally {
    await gateway.stop()
  }
  assert.equal(gateway.child.exitCode, 0, gateway.output())
})
