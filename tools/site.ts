// Makes the site from the documents: node dist/tools/site.js <folder> [--export]. Ends with 1, and
// writes nothing, when a link leads nowhere.
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { makeSite } from './site/make.ts'

const [folder, ...options] = process.argv.slice(2)
const { files, complaints } = await makeSite({ root: process.cwd(), isExport: options.includes('--export') })
for (const { file, line, says } of complaints) console.error(`${file}:${line}  ${says}`)
if (complaints.length > 0 || folder === undefined) process.exit(1)
// Beside its place first: a sandbox that runs meanwhile never sees half of it.
const aside = `${folder}.new`
rmSync(aside, { recursive: true, force: true })
for (const [path, content] of files) {
  const file = join(aside, path)
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}
rmSync(folder, { recursive: true, force: true })
renameSync(aside, folder)
