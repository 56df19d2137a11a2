import assert from 'node:assert/strict'
import { request } from 'node:https'
import { test } from 'node:test'
import { nextTurn } from '../../../src/base/clock.ts'
import { openLog } from '../../../src/base/log.ts'
import { systemRandom } from '../../../src/base/random.ts'
import { openTurns, turnBudget, units } from '../../../src/base/turn.ts'
import { openInbound } from '../../../src/three-d-secure/inbound.ts'
import { openAuthority } from '../../harness/three-d-secure/directory.ts'

/**
 * The port for results: even a directory server that lost its senses stays within the budget of a
 * turn.
 */

test('no turn reads more than its budget of 64 KiB of nesting, members or extensions, even with many messages', async () => {
  const authority = await openAuthority()
  const turns = openTurns(nextTurn)
  const inbound = await openInbound({
    host: '127.0.0.1',
    port: 0,
    tls: { ...authority.of('gateway-results'), ca: authority.ca },
    senders: new Map([['directory-server', 'ds']]),
    turns,
    oddities: { noted: () => {} },
    log: openLog({ level: 'silent', destination: process.stdout }),
    random: systemRandom,
  })
  const { cert, key } = authority.of('directory-server')
  const post = (body: string): Promise<string> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const to = { host: '127.0.0.1', port: inbound.port, method: 'POST', path: '/3ds/results', agent: false } as const
      const sending = request({ ...to, headers, ca: authority.ca, cert, key: key.reveal() }, (response) => {
        let text = ''
        response
          .on('data', (part: Buffer) => (text += part.toString()))
          .on('end', () => resolve(`${response.statusCode} ${text}`))
      })
      sending.on('error', reject).end(body)
    })
  const whole = 65_536
  assert.equal(await post('{}'), '503 ', 'no handler takes results yet')
  await inbound.serve({ wanted: () => Promise.resolve(undefined), result: () => Promise.resolve({ is: 'unknown' }) })
  const worst = [
    '['.repeat(whole),
    '{"a":'.repeat(13_000),
    `{"a":[${'0,'.repeat(32_000)}0]}`,
    `{${Array.from({ length: 1_990 }, (_, i) => `"${'\\u0061'.repeat(3)}${i}":1`).join(',')}}`,
    `{"messageExtension":[${'{},'.repeat(3_900)}{}]}`,
    `{"a":"${'\\"'.repeat(32_700)}"}`,
  ]
  try {
    for (const body of worst) assert.match(await post(body), /^200 .*"errorCode":"101"/, body.slice(0, 30))
    await Promise.all([...worst, ...worst].map(post))
    const bytes = 3 * worst.reduce((sum, { length }) => sum + length, 0)
    assert.equal(turns.counts().bytes.total, bytes)
    for (const unit of units) assert.ok(turns.counts()[unit].most <= turnBudget[unit], JSON.stringify(turns.counts()))
    assert.ok(turns.counts().nodes.total > 0)
    assert.match(await post('['.repeat(whole + 1)), /^413 $/)
    assert.equal(turns.counts().bytes.total, bytes)
  } finally {
    await inbound.close()
  }
})
