// npm run schema: writes src/storage/schema.sql anew. Run it after adding a migration.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, root } from './build.mjs'

build()
const written = spawnSync(process.execPath, [join(root, 'dist', 'tools', 'schema.js'), ...process.argv.slice(2)], {
  cwd: root,
  stdio: 'inherit',
})
process.exitCode = written.status ?? 1
