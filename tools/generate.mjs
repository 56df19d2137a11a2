// npm run generate: writes docs/reference. Run it after changing a row of src/spec.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

readArguments('npm run generate   writes docs/reference from the rows of src/spec\n')
build()
const written = spawnSync(process.execPath, [join(root, 'dist', 'tools', 'generate.js')], { cwd: root, stdio: 'inherit' })
process.exitCode = written.status ?? 1
