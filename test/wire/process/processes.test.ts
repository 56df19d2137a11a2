import assert from 'node:assert/strict'
import { fork, type ChildProcess } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { connect } from 'node:tls'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { Processes, type ListeningPorts } from '../../../src/processes/supervisor.ts'
import { openAuthority, type Authority } from '../../harness/three-d-secure/directory.ts'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { openWorld, openDirectory } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'
import { pidsOf, startedIn } from '../../harness/world/processes.ts'
import { writeResultsConfig } from '../../harness/three-d-secure/results-config.ts'
import { startServe } from '../../harness/world/serve.ts'
import { until } from '../../harness/clock/until.ts'
import { run, runProgram } from '../operator/cli-run.ts'

/** `serve --processes`: what its processes share, and when their parent starts one again. */

const folder = openDirectory('processes')

/** Serves; the file says with which exit code it ends instead. */
const ends = join(folder, 'ends')
const program = join(folder, 'program.mjs')
writeFileSync(
  program,
  `import { existsSync, readFileSync } from 'node:fs'
  if (existsSync(${JSON.stringify(ends)})) process.exit(Number(readFileSync(${JSON.stringify(ends)}, 'utf8')))
  process.on('SIGTERM', () => process.exit(0))
  process.on('SIGUSR2', () => process.send({ says: 'stops' }))
  process.on('message', ({ id }) => {
    const answer = { status: 200, type: 'text/plain', body: JSON.stringify({ reasons: [] }) }
    process.send({ says: 'answer', id, answer })
  })
  process.send({ says: 'operator', at: { host: '127.0.0.1', port: 0 } })
  process.send({ says: 'serves', port: 1 })`,
)

/** A parent of such processes, on a clock that stands; what it logs, and its end. */
function openParent() {
  const clock = openHandClock(0)
  const children: ChildProcess[] = []
  const joined: boolean[] = []
  const pauses: number[] = []
  const write = (line: string) => {
    const { pause_ms: pause }: { pause_ms?: number } = JSON.parse(line)
    if (pause !== undefined) pauses.push(pause)
  }
  const log = openLog({ level: 'info', destination: { write } })
  const start = (_slot: number, joins: boolean) => {
    const child = fork(program)
    children.push(child)
    joined.push(joins)
    return child
  }
  const served: ListeningPorts[] = []
  const onServing = (ports: ListeningPorts) => void served.push(ports)
  let signal: (why: string) => void = () => {}
  const stopped = new Promise<string>((resolve) => (signal = resolve))
  const processes = new Processes({ count: 1, start, onServing, clock, random: systemRandom, log })
  return { clock, children, joined, pauses, ending: processes.run(stopped), signal, served }
}

const serving = ({ served }: ReturnType<typeof openParent>) =>
  until(
    () => served,
    ({ length }) => length === 1,
  ).then(([ports]) => ports!)

test('a process that ends is started again, with growing pauses if it ends soon, and finally all end', async () => {
  const parent = openParent()
  const { clock, children, joined, pauses, ending } = parent
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
  assert.deepEqual(joined, [false, true, true, true, true, true], 'those that follow join the first')
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

test('a process that begins to stop is asked for nothing, and the gateway is not ready without another', async () => {
  const parent = openParent()
  const { operatorPort } = await serving(parent)
  const ready = async () => (await (await fetch(`http://127.0.0.1:${operatorPort}/ready`)).json()) as { reasons: string[] }
  assert.deepEqual(await ready(), { status: 'ready', reasons: [] })
  parent.children[0]!.kill('SIGUSR2')
  await until(ready, ({ reasons }) => reasons.length === 1 && reasons[0] === 'no process serves')
  parent.signal('SIGTERM')
  await parent.ending
})

const refused = async (env: Record<string, string>, ...args: string[]) => {
  const { code, err } = await run({ PORT: '8080', ...env }, ['serve', ...args])
  assert.equal(code, 2, err)
  return err
}

test('wrong settings are reported once, with the exit code of a single process', async () => {
  const { code, err } = await runProgram({ PORT: '8080' }, ['serve', '--processes', '3'])
  assert.equal(code, 2, err)
  assert.equal(err.split('DATABASE_URL is missing').length, 2, err)
  assert.match(err, /^The gateway ends: process 0 of 3 cannot serve: exit code 2\.$/m)
  for (const PROCESSES of ['0', '65', 'two'])
    assert.match(await refused({ PROCESSES }), new RegExp(`PROCESSES is "${PROCESSES}", not a number of processes from 1 to 64`))
  assert.match(await refused({ PROCESSES: '2', PORT: '0' }), /PORT is 0/)
  await refused({}, '--processes', '65')
  assert.match(await refused({ TOLLGATE_KEY_FD: '9999', PROCESSES: '2' }), /TOLLGATE_KEY_FD cannot be read: EBADF/)
})

test('a port that somebody has is named, with exit code 1', async () => {
  const world = await openWorld()
  await assert.rejects(
    startServe(world, undefined, { PROCESSES: '2', PORT: new URL(world.baseUrl).port }),
    /EADDRINUSE.*[^]*process 0 of 2 cannot serve: exit code 1/,
  )
  const operatorPort = new URL(world.operatorUrl).port
  await assert.rejects(
    startServe(world, undefined, { PROCESSES: '2', PORT: String(await freePort()), OPERATOR_PORT: operatorPort }),
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
    PORT: String(await freePort()),
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
