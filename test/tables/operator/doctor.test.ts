import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { withCommands } from '../../../src/entity/show.ts'
import { lineFinding, migrationFinding, serverFindings } from '../../../src/operator/doctor/database.ts'
import { machineFacts } from '../../../src/base/machine.ts'
import { machineFindings, nodeFinding } from '../../../src/operator/doctor/machine.ts'
import type { ConfigurationFacts, DatabaseFacts } from '../../../src/operator/doctor/rows.ts'
import { passingFindings, workFindings } from '../../../src/operator/doctor/work.ts'
import type { CellWork, LeaseFact } from '../../../src/operator/cells/cell-work.ts'

type WorkFacts = CellWork & ConfigurationFacts

const now = Date.parse('2030-01-31T12:00:00Z')

const goodServer: DatabaseFacts = {
  version: '18.4',
  versionNumber: 180_004,
  roundTripMs: 1,
  aheadMs: 3,
  fsync: true,
  synchronousCommit: true,
}
const goodWork: WorkFacts = {
  alive: [{ instance: 'vm:8080', startedAt: now - 60_000, lapses: 0, lapsedOrders: 0, takenOver: 0 }],
  silent: [],
  overdue: 0n,
  awaiting: 0n,
  parked: [],
  parkedInvoices: [],
  due: 0n,
  givenUp: 0n,
  nextOrderId: 1_000_001n,
  partitions: [{ table: 'orders', end: 20_000_000n }],
  partitionDays: 400,
  moving: [],
  merchants: 1n,
  hasBins: true,
  gateless: [],
  parameterSigned: [],
  secure: [],
}

test('the doctor reports nothing when all is well, and advises on each fault', () => {
  const sick = (facts: Partial<WorkFacts>) =>
    workFindings({ ...goodWork, ...facts }, now).filter((finding) => finding.is !== 'ok')
  const lived = (facts: Partial<LeaseFact>) => sick({ alive: [{ ...goodWork.alive[0]!, ...facts }] })
  const times = <T>(count: number, one: T): T[] => Array.from({ length: count }, () => one)
  const ill = (facts: Partial<DatabaseFacts>) =>
    serverFindings({ ...goodServer, ...facts }).filter((finding) => finding.is !== 'ok')
  const longAgo = lived({ lapses: 1, lapsedAt: now - 90_000_000, takenOver: 3, takenOverAt: now - 90_000_000 })
  assert.deepEqual([...sick({}), ...ill({}), ...longAgo], [])

  for (const [findings, is, says] of [
    [ill({ versionNumber: 140_011, version: '14.11' }), 'problem', /14\.11 is too old/],
    [ill({ aheadMs: -2_000 }), 'warning', /2 s behind/],
    [ill({ aheadMs: 9_000 }), 'problem', /9 s ahead of/],
    [ill({ fsync: false }), 'warning', /fsync is off/],
    [ill({ synchronousCommit: false }), 'warning', /synchronous_commit is off/],
    [sick({ alive: [] }), 'problem', /no gateway/],
    [
      sick({ silent: [{ instance: 'vm:81', beatAt: now - 9_000, orders: 7n }] }),
      'warning',
      /vm:81 for 9 s, with 7 orders in hand/,
    ],
    [
      sick({ silent: times(7, { instance: 'vm:81', beatAt: now - 9_000, orders: 1n }) }),
      'warning',
      /hour: 7, the last vm:81 for 9 s, with 1 order in hand; vm:81/,
    ],
    [
      lived({ lapses: 2, lapsedAt: now - 60_000, lapsedOrders: 12 }),
      'warning',
      /vm:8080 lapsed 2 times, last 1 min ago with 12 orders in hand/,
    ],
    [
      lived({ takenOver: 5, takenOverAt: now - 60_000 }),
      'warning',
      /vm:8080 took 5 orders over from silent processes, last 1 min ago/,
    ],
    [sick({ overdue: 3n, overdueSince: now - 60_000 }), 'problem', /3 overdue.*1 min ago/],
    [sick({ parked: ['1000007'] }), 'problem', /1000007/],
    [sick({ parkedInvoices: ['invoice-7'] }), 'problem', /invoice-7/],
    [sick({ due: 2n, dueSince: now - 7_200_000 }), 'warning', /2 waiting, the oldest for 2 h/],
    [sick({ givenUp: 4n }), 'warning', /4 given up/],
    [sick({ nextOrderId: 20_000_000n }), 'problem', /orders has none/],
    [sick({ partitions: [] }), 'problem', /orders has none/],
    [sick({ partitionDays: 12.7 }), 'warning', /18999999 more order ids, which last 12 days/],
    [sick({ moving: [{ login: 'shop', state: 'copying', to: 2, since: 0 }] }), 'warning', /shop is being moved to cell 2/],
    [
      sick({ moving: [{ login: 'shop', state: 'closed', to: 2, since: 0 }] }),
      'problem',
      /its requests have been refused since 1970-01-01 00:00:00/,
    ],
    [sick({ moving: [{ login: 'shop', state: 'clearing', to: 2, since: 0 }] }), 'warning', /shop are still in its old cell/],
    [sick({ merchants: 0n }), 'warning', /none is registered/],
    [sick({ hasBins: false }), 'warning', /no BIN table.*in texts/],
    [sick({ gateless: ['101'] }), 'warning', /101/],
  ] as const) {
    assert.deepEqual(
      findings.map((finding) => finding.is),
      [is],
      String(says),
    )
    assert.match(findings[0]!.says, says)
    assert.ok((findings[0]!.advice ?? '').length > 10)
  }
  const applied = { missing: [], foreign: [], changed: [] }
  assert.equal(migrationFinding(applied).is, 'ok')
  for (const wrong of [{ missing: ['0003.sql'] }, { foreign: ['0003.sql'] }, { changed: ['0003.sql'] }])
    assert.equal(migrationFinding({ ...applied, ...wrong }).is, 'problem')
})

test('an advice has its commands in braces, and a terminal says them with the program', () => {
  const parked = workFindings({ ...goodWork, parked: ['7'] }, now).find(({ is }) => is === 'problem')
  assert.equal(parked?.advice, 'see why: {order show 7}; then: {order resume 7}')
  assert.equal(withCommands(parked.advice), 'see why: npx tollgate order show 7; then: npx tollgate order resume 7')
})

test('a payment whose cardholder is being authenticated is not overdue work', () => {
  const findings = workFindings({ ...goodWork, awaiting: 2n }, now)
  assert.deepEqual(
    findings.find(({ what }) => what === 'transactions'),
    { is: 'ok', what: 'transactions', says: 'none is overdue; 2 waiting for the authentication of a cardholder' },
  )
})

// oxfmt-ignore
const refusing = [
  ['all serve the cell',                     ['a', 'b'], ['a', 'b'], false, []],
  ['requests are passed to one that does',   ['a'],      ['a', 'b'], true,  []],
  ['none does, which is a finding of its own', [],       ['a', 'b'], false, []],
  ['nothing is passed to the one that does', ['a'],      ['a', 'b'], false, ['b']],
] as const
for (const [what, serving, all, isReached, by] of refusing)
  test(`gateways that refuse the merchants of a cell: ${what}`, () => {
    const gateways = (names: readonly string[]) => names.map((instance) => ({ ...goodWork.alive[0]!, instance }))
    const found = passingFindings({ alive: gateways(serving) }, gateways(all), isReached)
    const refuse = `refuse its merchants with code 20: ${by.join(', ')}`
    assert.deepEqual(
      found.map(({ is, says }) => `${is}: ${says}`),
      by.length === 0 ? [] : [`warning: ${refuse}`],
    )
  })

test('the doctor warns of core dumps and of swap, which write card numbers to a disk', () => {
  const proc = mkdtempSync(join(tmpdir(), 'tollgate-proc-'))
  after(() => rmSync(proc, { recursive: true }))
  mkdirSync(join(proc, 'self'))
  const saysOf = (limit: string, swaps: string) => {
    const line = (name: string, soft: string) => `${name.padEnd(25)} ${soft.padEnd(20)} unlimited            bytes     \n`
    writeFileSync(join(proc, 'self', 'limits'), line('Max data size', 'unlimited') + line('Max core file size', limit))
    writeFileSync(join(proc, 'swaps'), `Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n${swaps}`)
    return Array.from(machineFindings(machineFacts(proc)!), ({ is, says }) => `${is}: ${says}`)
  }
  assert.deepEqual(saysOf('0', ''), ['ok: never reaches a disk: no core dumps, no swap'])
  const dumps = 'warning: a process started like this one may write a core dump, with card numbers in it'
  assert.deepEqual(saysOf('unlimited', ''), [dumps])
  assert.deepEqual(saysOf('1024', '/swap.img                               file\t\t8388604\t\t0\t\t-2\n'), [
    dumps,
    'warning: memory, with card numbers in it, may be swapped to /swap.img',
  ])
  assert.equal(machineFacts(join(proc, 'nowhere')), undefined)
})

//   version   on the day    is        says
const nodes: readonly (readonly [string, string, string, string])[] = [
  ['20.20.2', '2026-04-30', 'ok', '20.20.2, which gets repairs until 2026-04-30'],
  ['20.20.2', '2026-05-01', 'warning', '20.20.2 is of a release line that gets no repairs any more, not even for security'],
  ['23.1.0', '2026-04-30', 'warning', '23.1.0 is of a release line that gets no repairs any more, not even for security'],
  ['24.4.1', '2026-05-01', 'ok', '24.4.1, which gets repairs until 2028-04-30'],
  ['26.0.0', '2026-05-01', 'ok', '26.0.0'],
]
for (const [version, day, is, says] of nodes)
  test(`the doctor on Node ${version}, on ${day}: ${is}`, () => {
    const at = Date.parse(`${day}T23:59:59Z`)
    const finding = nodeFinding(version, at)
    assert.deepEqual([finding.is, finding.says], [is, says])
  })

test('an encrypted line to another machine is good only if the authority of its certificate is named', () => {
  const encryption = { protocol: 'TLSv1.3', cipher: 'TLS_AES_256_GCM_SHA384' }
  const verified = { host: 'db.example', isLocal: false, isVerified: true }
  assert.equal(lineFinding(verified, encryption).is, 'problem')
  assert.equal(lineFinding({ ...verified, authorities: 'ca.pem' }, encryption).is, 'ok')
  assert.equal(lineFinding({ ...verified, isVerified: false, authorities: 'ca.pem' }, encryption).is, 'problem')
})
