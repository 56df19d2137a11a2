// npm run generate: writes docs/reference anew. Run it after changing a row of src/spec.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { build, root } from './build.mjs'

build()
const written = spawnSync(process.execPath, [join(root, 'dist', 'tools', 'generate.js')], { cwd: root, stdio: 'inherit' })
process.exitCode = written.status ?? 1
