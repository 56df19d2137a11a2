import assert from 'node:assert/strict'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { run } from './cli-run.ts'
import { openMigrated } from '../../harness/postgres/migrated.ts'
import { openDirectory } from '../../harness/world/opening.ts'

const { url, pool } = await openMigrated('admin', 2)
const folder = openDirectory('audit')
const env = {
  DATABASE_URL: url,
  TOLLGATE_KEY: Buffer.from(Array.from({ length: 32 }, (_, i) => i * 7 + 1)).toString('base64'),
}
// They run at the same time, so that they compete for the end of the chain.
const added = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((login) => run(env, ['merchant', 'add', '--login', login])))
for (const { code, err } of added) assert.equal(code, 0, err)

const sql = (text: string) => pool.run({ name: '', text })
const verify = (...args: string[]) => run(env, ['audit', 'verify', ...args])

test('five simultaneous commands leave one chain', async () => {
  const { code, out } = await verify()
  assert.equal(code, 0, out)
  assert.match(out, /whole: 5 rows/)
})

// The table as it was is put back after each row.
//   what was done                 found
const tampering: readonly (readonly [string, RegExp])[] = [
  [`update audit set audit_id = gen_random_uuid() where no = 3`, /Row 3 .*was changed/],
  [`update audit set at = at + interval '1 microsecond' where no = 3`, /Row 3 .*was changed/],
  [`update audit set who = 'x' where no = 3`, /Row 3 .*was changed/],
  [`update audit set session = 'x' where no = 3`, /Row 3 .*was changed/],
  [`update audit set action = action || ' ' where no = 3`, /Row 3 .*was changed/],
  [`update audit set subject = 'x' where no = 3`, /Row 3 .*was changed/],
  [`update audit set details = details || '{"x": 1}' where no = 3`, /Row 3 .*was changed/],
  [`update audit set hash = '\\x00' where no = 3`, /Row 3 .*was changed/],
  [`update audit set no = 9 where no = 3`, /Row 3 is missing/],
  [`delete from audit where no = 1`, /Row 1 is missing/],
  [`delete from audit where no = 3`, /Row 3 is missing/],
  [`delete from audit where no = 5`, /last row is 4, and the end of the chain names 5/],
  [
    `update audit set no = case no when 2 then -3 else -2 end where no in (2, 3); update audit set no = -no where no < 0`,
    /Row 2 /,
  ],
  [
    `insert into audit select gen_random_uuid(), at, who, session, action, subject, details, 6, hash from audit where no = 5`,
    /Row 6 /,
  ],
  [`update audit set no = -no where no = 5`, /1 row without a place[^]*last row is 4/],
  [
    `insert into audit select gen_random_uuid(), at, who, session, action, subject, details, -6, hash from audit where no = 5`,
    /1 row without a place/,
  ],
  [`delete from audit_head`, /end of the chain is missing/],
]
for (const [done, found] of tampering)
  test(`it is found: ${done}`, async () => {
    await sql(`create table kept as select * from audit`)
    await sql(`create table kept_head as select * from audit_head`)
    try {
      for (const part of done.split('; ')) await sql(part)
      const { code, out } = await verify()
      assert.equal(code, 1, out)
      assert.match(out, found)
    } finally {
      for (const name of ['audit', 'audit_head']) await sql(`delete from ${name}`)
      await sql(`insert into audit select * from kept`)
      await sql(`insert into audit_head select * from kept_head`)
      await sql(`drop table kept, kept_head`)
    }
    assert.equal((await verify()).code, 0)
  })

test('a shortened chain whose end was moved too is found by an exported end, and a forged end is refused', async () => {
  const { out } = await run(env, ['audit', 'head'])
  const file = join(folder, 'head.json')
  await writeFile(file, out)
  const { public_key: publicKey } = JSON.parse(out) as { public_key: string }
  assert.equal((await verify('--head', file)).code, 0)
  assert.equal((await verify('--head', file, '--public-key', publicKey)).code, 0)
  assert.match((await verify('--public-key', publicKey)).err, /--head is needed/)
  assert.equal((await verify('--head', file, '--public-key', 'AAAA')).code, 2)
  const forged = join(folder, 'forged.json')
  await writeFile(forged, out.replace('"no": "5"', '"no": "4"'))
  assert.match((await verify('--head', forged)).err, /signature .* is not valid/)
  await sql(`delete from audit where no = 5`)
  await sql(`update audit_head set no = 4, hash = (select hash from audit where no = 4)`)
  assert.equal((await verify()).code, 0)
  const found = await verify('--head', file)
  assert.equal(found.code, 1)
  assert.match(found.out, /last row is 4; the exported end was row 5/)
})
