/** `tollgate health` asks a program on this machine, without a shell. */
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { closing, openHttp } from '../../harness/world/opening.ts'
import { freePort } from '../../harness/world/port.ts'
import { run } from '../operator/cli-run.ts'

const at = (port: number) => ({ OPERATOR_PORT: String(port) })

test('health ends with 0 where serve answers, and --ready with 1 and the reasons where it takes no payments', async () => {
  const { port } = await openHttp((request, response) => {
    response.statusCode = request.url === '/health' ? 200 : 503
    response.end(JSON.stringify({ status: 'not ready', reasons: ['no line to an acquirer is up'] }))
  })
  assert.deepEqual(await run(at(port), ['health']), { code: 0, out: 'serve is healthy.\n', err: '' })
  const unready = await run(at(port), ['health', '--ready'])
  assert.deepEqual(unready, { code: 1, out: '', err: 'serve is not ready: no line to an acquirer is up\n' })
  // It finds the port as serve does. The address that means all addresses means this machine too.
  assert.equal((await run({ PORT: String(port - 1_000), OPERATOR_HOST: '0.0.0.0' }, ['health'])).code, 0)
})

test('health ends with 1 soon, whether nothing listens or what listens says nothing', { timeout: 30_000 }, async () => {
  const free = await freePort()
  assert.match((await run(at(free), ['health'])).err, /^serve is not healthy: http:.*\/health does not answer \(.*ECONNREFUSED/)
  const mute = closing(createServer(() => {}))
  await new Promise<void>((resolve) => mute.listen(0, '127.0.0.1', resolve))
  const { code, err } = await run(at((mute.address() as { port: number }).port), ['health'])
  assert.equal(code, 1)
  assert.match(err, /does not answer \(.*[Tt]imeout/)
})

test('--wait asks until the answer is good, and gives up after its time', async () => {
  let answers = 0
  const { port } = await openHttp((_request, response) => {
    response.statusCode = ++answers < 3 ? 503 : 200
    response.end('{}')
  })
  assert.equal((await run(at(port), ['health', '--ready', '--wait', '60s'])).code, 0)
  assert.equal(answers, 3)
  answers = -1_000
  assert.match((await run(at(port), ['health', '--ready', '--wait', '1s'])).err, /^serve is not ready: .*\/ready answers 503\n$/)
  assert.ok(answers > -1_000 + 1, 'it asked more than once')
})

test('health of console and api: any answer but a failure is a sign of life', async () => {
  const { port } = await openHttp((request, response) => {
    response.statusCode = request.headers.host?.startsWith('127.0.0.1') ? 404 : 500
    response.end()
  })
  for (const [program, env] of [
    ['console', { CONSOLE_URL: `http://console.localhost:${port}` }],
    ['api', { OPERATOR_API_URL: `http://127.0.0.1:${port}` }],
  ] as const)
    assert.deepEqual(await run(env, ['health', program]), { code: 0, out: `${program} is healthy.\n`, err: '' })
})

test('health refuses with 2 what cannot be asked', async () => {
  for (const [env, args, says] of [
    [{ PORT: '0' }, [], /OPERATOR_PORT is missing/],
    [{ OPERATOR_PORT: 'x' }, [], /OPERATOR_PORT is "x"/],
    [{}, ['console', '--ready'], /--ready is for serve alone/],
    [{}, ['sandbox'], /must be serve, api or console/],
    [{}, ['--wait', '1ms'], /must be a span/],
  ] as const) {
    const { code, err } = await run({ ...env }, ['health', ...args])
    assert.equal(code, 2, err)
    assert.match(err, says)
  }
})
