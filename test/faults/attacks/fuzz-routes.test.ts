import assert from 'node:assert/strict'
import { connect } from 'node:net'
import { test } from 'node:test'
import { exampleFor } from '../../../src/reference/example.ts'
import { operationNames, operationRow } from '../../../src/spec/gateway/operations.ts'
import { mobileOperationNames, mobileRow } from '../../../src/spec/mobile/operations.ts'
import { metricsOf } from '../../harness/world/metrics.ts'
import { mutator, seeded } from '../../harness/world/mutate.ts'
import { openWorld } from '../../harness/world/opening.ts'

/** For longer: `FUZZ_SECONDS=600 FUZZ_SEED=7`. A failure prints the seed that repeats it. */
const seconds = Number(process.env['FUZZ_SECONDS'] ?? 2)
const seed = Number(process.env['FUZZ_SEED'] ?? Date.now() % 2 ** 31)
const atOnce = 16
/** The client has ended its side, so nothing is waited for. */
const answerWithinMs = 20_000

const world = await openWorld()
const { hostname, port, pathname: base } = new URL(world.baseUrl)

interface Request {
  line: string
  headers: readonly string[]
  body: string
}

const at = (path: string, body: string, type = 'application/x-www-form-urlencoded', more: readonly string[] = []): Request => ({
  line: `POST ${base}${path} HTTP/1.1`,
  headers: [`Content-Type: ${type}`, ...more],
  body,
})
const get = (path: string): Request => ({ line: `GET ${path} HTTP/1.1`, headers: [], body: '' })

const oauth =
  'OAuth oauth_consumer_key="x", oauth_nonce="n", oauth_signature="AA==", ' +
  'oauth_signature_method="RSA-SHA256", oauth_timestamp="1"'
const signature = [
  'Signature-Input: s=("@method" "@path" "content-digest");created=1;nonce="n";keyid="x";alg="hmac-sha256"',
  'Signature: s=:AA==:',
]
const json = '{"session":{"token":"t","nonce":"n","signature":"s"},"transaction":{"amountCentis":1,"currency":"USD"}}'
/** Nothing of it is signed rightly, so that nothing comes of it. */
const requests: readonly Request[] = [
  ...operationNames.map((operation) => {
    const { path, signed } = operationRow(operation)
    const more = signed === 'OAuth' ? [`Authorization: ${oauth}`] : signature
    return at(`${path}/${world.endpoints.plain}`, exampleFor(operation).body, undefined, more)
  }),
  ...mobileOperationNames.flatMap((operation) => {
    const { path, side } = mobileRow(operation)
    return side === 'service'
      ? [at(path.replace('{endpointId}', String(world.endpoints.plain)).replaceAll(/\{\w+\}/g, 'x-1'), json, 'application/json')]
      : []
  }),
  at('/3ds/collect', 'threeDSMethodData=e30'),
  at('/3ds/AAAAAAAAAAAAAAAAAAAAAA', 'browser=1'),
  get(`${base}/3ds/AAAAAAAAAAAAAAAAAAAAAA`),
  get(`${base}/view-receipt/${world.endpoints.plain}/0739d5aa-1111-4222-8333-0123456789ab/`),
  get('/docs'),
  get('/health'),
]

const written = ({ line, headers }: Request, body: Buffer): Buffer =>
  Buffer.concat([
    Buffer.from([line, 'Host: x', 'Connection: close', ...headers, `Content-Length: ${body.length}`, '', ''].join('\r\n')),
    body,
  ])

/** Everything that comes back until the other side ends too. */
function talk(bytes: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port) })
    let answer = ''
    const late = setTimeout(() => {
      socket.destroy()
      reject(new Error(`no end within ${answerWithinMs} ms`))
    }, answerWithinMs)
    const end = () => {
      clearTimeout(late)
      resolve(answer)
    }
    socket.on('data', (chunk) => (answer += chunk.toString('latin1')))
    socket.on('error', end).on('close', end)
    socket.end(bytes)
  })
}

test(`${seconds} s of damaged requests: every one ends soon, and none with an internal error (FUZZ_SEED=${seed})`, async () => {
  const mutate = mutator(seed)
  const below = seeded(seed + 1)
  const seen = { sent: 0, answered: 0 }
  const ends = performance.now() + seconds * 1000
  const one = async () => {
    while (performance.now() < ends) {
      const request = requests[below(requests.length)]!
      const body = Buffer.from(request.body)
      // Damage to the body alone reaches further than damage to the length.
      const bytes = below(2) === 0 ? written(request, mutate(body)) : mutate(written(request, body))
      const answer = await talk(bytes).catch((error: unknown) => assert.fail(`${String(error)}: ${bytes.toString('hex')}`))
      seen.sent++
      if (answer !== '') seen.answered++
      assert.doesNotMatch(answer, /Internal error|INTERNAL_ERROR/i, bytes.toString('hex'))
    }
  }
  await Promise.all(Array.from({ length: atOnce }, one))
  assert.ok(seen.sent > 10 * seconds && seen.answered > seen.sent / 4, JSON.stringify(seen))
  // The process is the one from before, and serves.
  assert.ok((await metricsOf(world)).names().length > 0)
})
