// npm run site: writes the documents as pages for any server of files.
import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { readArguments } from './arguments.mjs'
import { build, root } from './build.mjs'

const help = `npm run site -- <folder>   writes the documents as pages for any server of files

Its links are relative, so the folder may stand anywhere. It has no forms that send requests: those need a sandbox.
The folder must be new, empty, or an earlier export.
Ends with 0 when it was done, 1 when a link of a document leads nowhere, 2 on wrong usage.
`
const { positionals } = readArguments(help, {}, true)
const folder = resolve(positionals[0] ?? '')
const isOurs = !existsSync(folder) || readdirSync(folder).length === 0 || existsSync(join(folder, 'llms.txt'))
if (positionals.length !== 1 || !isOurs) {
  console.error(positionals.length === 1 ? `${folder} has files of something else.` : help)
  process.exit(2)
}
build()
const args = [join(root, 'dist', 'tools', 'site.js'), folder, '--export']
const written = spawnSync(process.execPath, args, { cwd: root, stdio: 'inherit' })
if (written.status === 0) console.log(`The pages are in ${folder}; begin with index.html.`)
process.exitCode = written.status ?? 1
