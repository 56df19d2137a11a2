import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openHandClock } from '../../harness/clock/hand-clock.ts'
import { keyFileIn } from '../../harness/operators/api.ts'
import { startOwnConsole } from '../../harness/operators/console.ts'
import { migratedDatabase } from '../../harness/postgres/postgres.ts'
import { closing, openDirectory } from '../../harness/world/opening.ts'

// Forms of settings: what is there, what would change, two editors, and a form that is sent twice.

const { url: databaseUrl } = closing(await migratedDatabase())
const clock = openHandClock(Date.now())
const desk = closing(await startOwnConsole({ databaseUrl, keyFile: keyFileIn(openDirectory('forms')), clock }))
const settings = '--host 10.0.0.1 --port 1 --terminal-id T --card-acceptor-id C --card-acceptor-name N'
await desk.tell(`gate add --name acme ${settings} --acquirer-id 1 --mcc 5999 --descriptor Shop`.split(' '))
const setByCommand = (descriptor: string) => desk.tell(['gate', 'set', 'acme', '--descriptor', descriptor])
const [one, other] = [await desk.inside('owner'), await desk.inside('operator')]

type Fields = Record<string, string>
const unescaped = (text: string) => text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)))
/** The fields of the form of a page as a browser would send them. */
function fieldsIn(html: string, path: string): Fields {
  const [form = ''] = new RegExp(`<form method="post" action="/${path}">.*?</form>`, 's').exec(html) ?? []
  const fields: Fields = {}
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const of = (name: string) => new RegExp(`\\s${name}="([^"]*)"`).exec(tag)?.[1]
    if (of('type') !== 'checkbox' && of('name') !== undefined) fields[of('name')!] = unescaped(of('value') ?? '')
  }
  for (const [, name, options] of form.matchAll(/<select[^>]*name="([^"]+)"[^>]*>(.*?)<\/select>/gs))
    fields[name!] = /<option selected>([^<]*)/.exec(options!)?.[1] ?? ''
  return fields
}

const open = async (visit = one) => fieldsIn((await visit.get('/gate/set?gate=acme')).html, 'gate/set')
const shown = async () => JSON.parse(await desk.tell(['gate', 'show', 'acme', '--json'])) as Record<string, unknown>

test('a form has the present values, and fields left unchanged stay', async () => {
  const fields = await open()
  assert.equal(fields['descriptor'], 'Shop')
  const { status } = await one.send('/gate/set', { ...fields, descriptor: 'Shop & Son' })
  assert.equal(status, 200)
  assert.equal((await shown())['descriptor'], 'Shop & Son')
  assert.equal((await open())['descriptor'], 'Shop & Son')
})

test('a form that is sent again, as by a reload, does nothing again', async () => {
  const fields = await open()
  assert.equal((await one.send('/gate/set', { ...fields, descriptor: 'Once' })).status, 200)
  await setByCommand('Later')
  const again = await one.send('/gate/set', { ...fields, descriptor: 'Once' })
  assert.deepEqual([again.status, /was already sent, and was not carried out a second time/.test(again.html)], [409, true])
  assert.equal((await shown())['descriptor'], 'Later')
})

test('a form that was refused may be sent again when it is mended', async () => {
  const fields = fieldsIn((await one.get('/user/add')).html, 'user/add')
  const taken = { ...fields, name: 'jane', role: 'support' }
  const made = await one.send('/user/add', taken)
  assert.equal(made.status, 200, /complaint"[^<]*<?[^<]*/.exec(made.html)?.[0])
  const form = fieldsIn((await one.get('/user/add')).html, 'user/add')
  assert.equal((await one.send('/user/add', { ...form, name: 'jane', role: 'support' })).status, 409)
  assert.equal((await one.send('/user/add', { ...form, name: 'joan', role: 'support' })).status, 200)
})

test('two editors: the second sees what the first changed, and the form with both changes', async () => {
  await setByCommand('Before')
  const [first, second] = [await open(one), await open(other)]
  assert.equal((await one.send('/gate/set', { ...first, descriptor: 'By one' })).status, 200)
  const late = await other.send('/gate/set', { ...second, descriptor: 'By other' })
  assert.equal(late.status, 409)
  assert.match(late.html, /Another user has changed this in the meantime/)
  assert.match(late.html, /Before → By one; you wrote By other/)
  assert.equal((await shown())['descriptor'], 'By one')
  const merged = fieldsIn(late.html, 'gate/set')
  assert.equal(merged['descriptor'], 'By other')
  assert.equal((await other.send('/gate/set', merged)).status, 200)
  assert.equal((await shown())['descriptor'], 'By other')
})

test("two editors of different fields do not undo each other's changes", async () => {
  const [first, second] = [await open(one), await open(other)]
  assert.equal((await one.send('/gate/set', { ...first, descriptor: 'Renamed' })).status, 200)
  const late = await other.send('/gate/set', { ...second, port: '2' })
  assert.equal(late.status, 409)
  assert.equal((await other.send('/gate/set', fieldsIn(late.html, 'gate/set'))).status, 200)
  const { descriptor, port } = await shown()
  assert.deepEqual([descriptor, port], ['Renamed', 2])
})
