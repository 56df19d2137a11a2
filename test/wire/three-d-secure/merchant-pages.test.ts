import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { order, settled } from '../../conformance/requests/client.ts'
import { image } from '../../harness/browser/images.ts'
import { openWorld } from '../../harness/world/opening.ts'
import { until } from '../../harness/clock/until.ts'
import { cliOf } from '../operator/cli-run.ts'

/** What an operator sets for a merchant's pages, and what comes of it. */

const world = await openWorld()
const { tell, json, refuse } = cliOf(() => world)
const { login } = world.merchant
const fileOf = (name: string, bytes: Buffer | string) => {
  const file = join(world.directory, name)
  writeFileSync(file, bytes)
  return file
}

interface Shown {
  page: { name: string | null; colour: string | null; logo: { type: string; width: number; bytes: number } | null }
}
const nothing = { name: null, colour: null, logo: null }

const paid = await settled(world, await order(world))
async function receipt(languages = 'en'): Promise<string> {
  const headers = { 'accept-language': languages }
  const url = `${world.baseUrl}/view-receipt/${world.endpoints.plain}/${paid['receipt-id']}/`
  return (await fetch(url, { headers })).text()
}

test('name, logo and colour are shown within seconds, in show and in the audit trail, and can be taken away', async () => {
  assert.deepEqual((await json<Shown>('merchant', 'show', login)).page, nothing)
  const before = await receipt()
  assert.ok(!before.includes('<img') && !before.includes('--brand:#'))
  const logo = image('png', 200, 60)
  const said = await tell([
    'merchant',
    'set',
    login,
    '--page-name',
    'Söhne <b>&',
    '--colour',
    '#0A7D55',
    '--logo',
    fileOf('logo.png', logo),
  ])
  assert.match(said, /Page name +none → Söhne <b>&\n +Page colour +none → #0a7d55\n +Page logo +none → png, 200 × 60 pixels, /)
  assert.match(said, /, \d+ bytes, SHA-256 [0-9a-f]{64}/)
  const after = await until(receipt, (page) => page.includes('--brand:#0a7d55'))
  assert.ok(after.includes('Söhne &#60;b&#62;&#38;') && !after.includes('<b>&'))
  assert.ok(after.includes(`<img class="logo" src="data:image/png;base64,${logo.toString('base64')}" alt="" />`))
  assert.match(await receipt('ru'), /<html lang="ru" dir="ltr">[^]*Получатель/)
  const { page } = await json<Shown>('merchant', 'show', login)
  assert.deepEqual([page.name, page.colour, page.logo?.type, page.logo?.bytes], ['Söhne <b>&', '#0a7d55', 'png', logo.length])
  const trail = await tell(['audit', 'list', '--about', 'merchant set', '--json'])
  assert.ok(trail.includes('"merchant set"') && trail.includes('#0a7d55'))
  assert.ok(![trail, await tell(['merchant', 'show', login, '--json'])].join('').includes(logo.toString('base64').slice(0, 40)))
  await tell(['merchant', 'set', login, '--no-logo', '--no-page-name'])
  await until(receipt, (shown) => !shown.includes('<img') && shown.includes('Sandbox Shop') && shown.includes('--brand:#0a7d55'))
  await tell(['merchant', 'set', login, '--no-colour'])
  assert.deepEqual((await json<Shown>('merchant', 'show', login)).page, nothing)
})

test('an invalid name, colour or logo is refused, and nothing changes', async () => {
  const svg = fileOf('logo.svg', '<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>')
  const logo = (name: string, bytes: Buffer) => ['--logo', fileOf(name, bytes)]
  // oxfmt-ignore
  const cases: [why: RegExp, args: string[]][] = [
    [/Nothing to set/,                         []],
    [/without spaces around it or direction marks/,      ['--page-name', 'a\u202eb']],
    [/one to 64 characters/,                   ['--page-name', 'a\nb']],
    [/one to 64 characters/,                   ['--page-name', '']],
    [/hexadecimal/,                            ['--colour', 'red;}*{background:url(x)']],
    [/hexadecimal/,                            ['--colour', '#fff']],
    [/--logo: .* too large/,                   logo('large.png', image('png', 200, 60, 40_000))],
    [/cannot be read/,                         ['--logo', join(world.directory, 'none.png')]],
    [/--logo must be a PNG, JPEG or WebP/,     ['--logo', svg]],
    [/--logo must be/,                         logo('wide.png', image('png', 2_000, 60))],
    [/--logo must be/,                         logo('behind.png', Buffer.concat([image('png', 200, 60), Buffer.from('<script>')]))],
  ]
  for (const [why, args] of cases) assert.match(await refuse(2, 'merchant', 'set', login, ...args), why)
  assert.match(await refuse(1, 'merchant', 'set', 'nobody', '--no-logo'), /nobody/)
  assert.deepEqual((await json<Shown>('merchant', 'show', login)).page, nothing)
})
