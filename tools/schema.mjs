// npm run schema: writes src/storage/schema.sql. Run it after adding a migration.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

const help = `npm run schema                  writes src/storage/schema.sql anew from the migrations
npm run schema -- postgres://…  as an empty database at this address makes it of them
`
const { positionals } = readArguments(help, {}, true)
build()
const written = spawnSync(process.execPath, [join(root, 'dist', 'tools', 'schema.js'), ...positionals], {
  cwd: root,
  stdio: 'inherit',
})
process.exitCode = written.status ?? 1
