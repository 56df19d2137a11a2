import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { openHttp, openWorld } from '../../harness/world/opening.ts'

/** examples/race-check.mjs against the sandbox, and against a gateway that gives money away. */

const script = fileURLToPath(new URL('../../../../examples/race-check.mjs', import.meta.url))

const world = await openWorld()
/** Accepts everything and reports it approved. A status is about the operation with this serial. */
const operations = new Map<string, string>()
let orders = 0
const { origin: careless } = await openHttp((request, response) => {
  let body = ''
  request.setEncoding('utf8').on('data', (text: string) => (body += text))
  request.on('end', () => {
    const operation = (request.url ?? '').split('/').at(-2) ?? ''
    const asked = new URLSearchParams(body)
    const serial = randomUUID()
    operations.set(serial, operation)
    const kind = operations.get(asked.get('by-request-sn') ?? '') ?? 'sale'
    const reply: Record<string, string> = {
      type: operation === 'status' ? 'status-response' : 'async-response',
      status: 'approved',
      'transaction-type': kind === 'capture' || kind === 'sale' ? kind : 'reversal',
      'serial-number': serial,
      'merchant-order-id': asked.get('client_orderid') ?? '',
      'processor-rrn': asked.get('by-request-sn') ?? '',
      'gateway-order-id': asked.get('orderid') ?? String((orders += 1)),
    }
    // With a line break after each pair, as some gateways have it.
    response.end(new URLSearchParams(reply).toString().replaceAll('&', '\n&'))
  })
})

interface Ran {
  code: number
  out: string
  err: string
}

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<Ran> {
  const child = spawn(process.execPath, [script, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'], timeout: 300_000 })
  let [out, err] = ['', '']
  child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (err += chunk.toString()))
  const code = await new Promise<number>((resolve) => child.once('close', (status) => resolve(status ?? -1)))
  return { code, out, err }
}

function at(baseUrl: string, ...more: string[]): string[] {
  const { login, controlKey } = world.merchant
  const who = ['--login', login, '--control-key', controlKey, '--endpoint', String(world.endpoints.plain)]
  return ['--base-url', baseUrl, ...who, '--rounds', '2', '--parallel', '16', '--apart', '1', ...more]
}

const carelessUrl = `${careless}/gateway`

/** The cells of a row of the table, by the words that it begins with. */
const rowOf = ({ out }: Ran, begins: string): string[] =>
  (out.split('\n').find((text) => text.startsWith(begins)) ?? '')
    .slice(begins.length)
    .trim()
    .split(/\s{2,}/)

describe('race-check', () => {
  test('finds nothing wrong with the sandbox: 0, and the sums are right', async () => {
    const ran = await run(at(world.baseUrl))
    assert.equal(ran.code, 0, ran.out + ran.err)
    // requests, accepted, refused, unanswered, paid, returned, verdict
    assert.deepEqual(rowOf(ran, '16 returns of 1.00'), ['32', '20', '12', '0', '20.00', '20.00', 'ok'])
    const [requests, accepted, refused, unanswered, paid, returned, verdict] = rowOf(ran, 'capture or void')
    assert.deepEqual([requests, accepted, refused, unanswered, verdict], ['4', '2', '2', '0', 'ok'])
    assert.equal(Number(paid) + Number(returned), 20)
    assert.deepEqual(rowOf(ran, '16 times one sale'), ['32', '32', '0', '0', '20.00', '0.00', 'ok'])
    assert.deepEqual(rowOf(ran, '3 times one return of 1.00'), ['6', '6', '0', '0', '20.00', '2.00', 'ok'])
    assert.doesNotMatch(ran.out + ran.err, new RegExp(world.merchant.controlKey))
  })
  test('finds a gateway that gives back more than was paid: 1, and each race says so', async () => {
    const ran = await run(at(carelessUrl))
    assert.equal(ran.code, 1, ran.out + ran.err)
    assert.deepEqual(rowOf(ran, '16 returns of 1.00'), [
      '32',
      '32',
      '0',
      '0',
      '20.00',
      '32.00',
      'MORE RETURNED THAN PAID in 2 of 2',
    ])
    assert.equal(rowOf(ran, 'capture or void').at(-1), 'BOTH APPROVED in 2 of 2')
    assert.equal(rowOf(ran, '16 times one sale').at(-1), 'CHARGED TWICE in 2 of 2')
    assert.equal(rowOf(ran, '3 times one return of 1.00').at(-1), 'RETURNED AGAIN in 2 of 2')
  })
  test('a payment that is not approved, a wrong key and a gateway that is not there: 2, with the reason', async () => {
    // oxfmt-ignore
    const cases: [string[], RegExp][] = [
      [at(world.baseUrl, '--cvv2', '116'),              /sale is declined \(116 .*--card and --cvv2/],
      [at(world.baseUrl, '--control-key', 'x'),         /refused: 2 INVALID_CONTROL_CODE/],
      [at(`${world.baseUrl}/nowhere`),                  /answers 404/],
      [at('http://127.0.0.1:2/gateway'),                /does not answer: \S/],
    ]
    for (const [args, says] of cases) {
      const ran = await run(args)
      assert.deepEqual([ran.code, ran.out], [2, ''], args.join(' '))
      assert.match(ran.err, says)
    }
  })
  test('arguments that cannot be meant: 2, with a sentence that names them', async () => {
    // oxfmt-ignore
    const cases: [string[], RegExp][] = [
      [[],                                              /^--base-url is missing\./],
      [at('ftp://shop.example'),                        /^--base-url ftp:\/\/shop\.example is no http address\./],
      [at(world.baseUrl, '--parallel', '10'),           /^--parallel is a whole number from 11 to 1000\./],
      [at(world.baseUrl, '--rounds', 'many'),           /^--rounds is a whole number from 1 to 1000\./],
      [at(world.baseUrl, '--amount', '10.05'),          /^--amount 10\.05 has no tenth\./],
      [at(world.baseUrl, '--amount', '-1'),             /^--amount|argument/],
      [at(world.baseUrl, '--speed', '1'),               /--speed/],
    ]
    for (const [args, says] of cases) {
      const ran = await run(args)
      assert.deepEqual([ran.code, ran.out], [2, ''], args.join(' '))
      assert.match(ran.err, says)
    }
  })
  test('--help explains its use and ends with 0; the key may come from the environment', async () => {
    const ran = await run(['--help'])
    assert.deepEqual([ran.code, ran.err], [0, ''])
    for (const option of ['--base-url', '--login', '--control-key', '--endpoint', '--rounds', '--parallel', 'CONTROL_KEY'])
      assert.match(ran.out, new RegExp(option))
    const args = at(carelessUrl).filter((word) => word !== '--control-key' && word !== world.merchant.controlKey)
    assert.equal((await run(args, { CONTROL_KEY: world.merchant.controlKey })).code, 1)
    assert.equal((await run(args)).code, 2)
  })
})
