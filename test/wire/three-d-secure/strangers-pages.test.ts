import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { askAs } from '../../harness/world/stranger.ts'

/** Pages of other sites, which a browser on this machine may show, and the servers of a sandbox. */

const world = await openWorld()
const { acquirerAdminUrl, directoryServerUrl, acsUrl, merchantServerUrl } = world

const servers: readonly (readonly [name: string, read: string, post: string])[] = [
  ['acquirer', `${acquirerAdminUrl}/ledger`, `${acquirerAdminUrl}/faults`],
  ['directory server', new URL('/admin/log', directoryServerUrl).href, new URL('/admin/faults', directoryServerUrl).href],
  ['issuer', `${acsUrl}/admin/log`, `${acsUrl}/admin/faults`],
  ['merchant', `${merchantServerUrl}/callbacks.json`, `${merchantServerUrl}/auth/request-access-token`],
]
for (const [name, read, post] of servers) {
  test(`the simulated ${name} is not read under a name of somebody else`, async () => {
    const { port } = new URL(read)
    for (const host of ['elsewhere.example', `elsewhere.example:${port}`, '127.0.0.1.elsewhere.example', '192.0.2.1'])
      assert.equal((await askAs(read, { host })).status, 421, host)
    for (const host of [`127.0.0.1:${port}`, `localhost:${port}`]) assert.equal((await askAs(read, { host })).status, 200, host)
  })
  test(`the simulated ${name} takes nothing that a page of another site posts`, async () => {
    const plain = { 'content-type': 'text/plain' }
    for (const headers of [{ origin: 'https://elsewhere.example' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }])
      assert.equal((await askAs(post, { ...plain, ...headers }, '{}')).status, 403, JSON.stringify(headers))
    const own = await askAs(post, { ...plain, origin: new URL(post).origin, 'sec-fetch-site': 'same-origin' }, '{}')
    assert.notEqual(own.status, 403)
  })
}
