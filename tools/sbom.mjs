// npm run sbom: writes sbom.cdx.json. Run it after a change of package-lock.json.
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

readArguments('npm run sbom   writes sbom.cdx.json anew: what runs, from package-lock.json, as CycloneDX\n')
build()
const written = spawnSync(process.execPath, [join(root, 'dist', 'tools', 'sbom.js')], { cwd: root, stdio: 'inherit' })
process.exitCode = written.status ?? 1
