/** The style and the script of the site, each one file. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { build } from 'esbuild'
import { lookStyle, sandboxStyle } from '../../src/look/look.ts'

export const styleText = (root: string): string =>
  lookStyle + sandboxStyle + readFileSync(join(root, 'tools', 'site', 'site.css'), 'utf8')

export async function scriptText(root: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [join(root, 'tools', 'site', 'browser', 'site.js')],
    bundle: true,
    minify: true,
    format: 'esm',
    target: 'es2022',
    write: false,
    logLevel: 'warning',
  })
  return outputFiles[0]!.text
}
