import assert from 'node:assert/strict'
import { spawn, type ChildProcess } from 'node:child_process'
import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { after, before, describe, test } from 'node:test'
import { startAcquirer, type Acquirer } from '../../../simulators/acquirer/start.ts'
import { admin, boundMs, frame, GatewayEnd, ledger, network, payment, quietLog, type Fields } from '../acquirer/acquirer-line.ts'

let acquirer: Acquirer
let line: GatewayEnd
let folder: string
let stan = 0
const children: ChildProcess[] = []

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'acquirer-'))
  acquirer = await startAcquirer({ log: quietLog })
  line = await GatewayEnd.signedOn(acquirer.port)
})
after(async () => {
  line?.close()
  await acquirer?.close()
  for (const child of children) child.kill('SIGKILL')
  await rm(folder, { recursive: true })
})

const next = (): number => ++stan
const entryOf = async (fields: Fields) => (await ledger(acquirer.adminUrl)).find((entry) => entry.stan === fields[11])

describe('the line', () => {
  test('without sign-on, and after sign-off, everything but network messages is refused and not booked', async () => {
    const end = await GatewayEnd.open(acquirer.port)
    const first = payment({ stan: next(), cvv2: '123' })
    assert.equal((await end.ask('1804', network(next(), '831'))).fields[39], '800')
    assert.equal((await end.ask('1200', first)).fields[39], '904')
    assert.equal((await end.ask('1804', network(next(), '801'))).fields[39], '800')
    assert.equal((await end.ask('1200', first)).fields[39], '000')
    assert.equal((await end.ask('1804', network(next(), '802'))).fields[39], '800')
    const last = payment({ stan: next(), cvv2: '123' })
    assert.equal((await end.ask('1200', last)).fields[39], '904')
    assert.equal((await end.ask('1804', network(next(), '999'))).fields[39], '904')
    assert.equal(await entryOf(last), undefined)
    end.close()
  })

  test('a message may come in pieces, or many in one piece', async () => {
    const sales = Array.from({ length: 5 }, () => payment({ stan: next(), cvv2: '123' }))
    const first = frame('1200', sales[0]!)
    const other = await GatewayEnd.signedOn(acquirer.port)
    for (const [from, to] of [
      [0, 1],
      [1, 2],
      [2, 9],
      [9, 100],
      [100, first.length],
    ] as const) {
      line.socket.write(first.subarray(from, to))
      await other.echo(next()) // so that this piece was read before the next is sent
    }
    line.socket.write(Buffer.concat(sales.slice(1).map((sale) => frame('1200', sale))))
    await line.until(() => sales.every((sale) => line.to(sale).length === 1), 'five answers')
    other.close()
  })
})

interface Program {
  child: ChildProcess
  port: number
  adminUrl: string
  /** Exit code or signal, once it is there. */
  ended: Promise<number | string | null>
}

/** The program as a user starts it, waited for until it says that it serves. */
async function run(...more: string[]): Promise<Program> {
  const program = new URL('../../../simulators/acquirer/program.js', import.meta.url).pathname
  const child = spawn(process.execPath, [program, '--port', '0', '--admin-port', '0', ...more], {
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  children.push(child)
  const ended = new Promise<number | string | null>((resolve) => child.once('exit', (code, signal) => resolve(code ?? signal)))
  for await (const text of createInterface({ input: child.stdout, signal: AbortSignal.timeout(boundMs) })) {
    const ready: unknown = JSON.parse(text)
    assert.ok(typeof ready === 'object' && ready !== null && 'ready' in ready && 'port' in ready && 'admin_url' in ready)
    assert.deepEqual(Object.keys(ready), ['ready', 'port', 'admin_url'])
    return { child, port: Number(ready.port), adminUrl: String(ready.admin_url), ended }
  }
  throw new Error(`the program ended with ${String(await ended)} before it served`)
}

const ended = (program: Program): Promise<number | string | null> => {
  const bound = new Promise<never>((_resolve, reject) => setTimeout(reject, boundMs, new Error('it did not end')).unref())
  return Promise.race([program.ended, bound])
}

describe('the program', () => {
  test('asked to die with its parent, it ends when its standard input does', async () => {
    const program = await run('--die-with-parent')
    program.child.stdin?.end()
    assert.equal(await ended(program), 0)
  })

  test('an option that it does not have is refused with exit code 2', async () => {
    await assert.rejects(run('--unknown'), /ended with 2/)
  })

  test('a ledger file with a line it did not write is refused', async () => {
    const file = join(folder, 'broken.jsonl')
    await appendFile(file, '{"answered":{"terminal":"T","stan":"1","time12":"1"}}\n')
    await assert.rejects(startAcquirer({ log: quietLog, ledgerFile: file }), /line 1 of the ledger/)
  })
})

test('neither the file, nor the admin port, has a card number, an expiry or a CVV2', async (t) => {
  // No time of a message has an hour, a minute or a second of 99 or 91.
  const file = join(folder, 'masked.jsonl')
  const own = await startAcquirer({ log: quietLog, ledgerFile: file })
  t.after(() => own.close())
  const end = await GatewayEnd.signedOn(own.port)
  await end.ask('1200', payment({ stan: 1, cvv2: '1234', pan: '5105105105105100', expiry: '9912' }))
  await end.ask('1200', payment({ stan: 2, cvv2: '1234', pan: '800000001', expiry: '9912' }))
  const seen = [await readFile(file, 'utf8')]
  for (const path of ['/ledger', '/messages', '/ledger/summary'])
    seen.push(JSON.stringify((await admin(own.adminUrl + path)).body))
  for (const text of seen) assert.doesNotMatch(text, /5105105105105100|800000001|9912|92=1234|920041234/)
  assert.match(seen[0]!, /510510\*{6}5100/)
  assert.match(seen[2]!, /92=\*\*\*/)
})
