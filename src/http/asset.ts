import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Answer, Route } from './server.ts'

/**
 * The style, script or picture of a page: a file beside its module, read once when the module
 * loads. The build copies it to `dist`. A script is a block, or a module: browsers have global
 * variables of their own, such as `origin`.
 */
export const asset = (file: URL): string => readFileSync(file, 'utf8')

/** A file of a package that browsers load, by its place from the directory of the main module. */
export const packagedAsset = (name: string, place: string): string =>
  readFileSync(join(dirname(createRequire(import.meta.url).resolve(name)), place), 'utf8')

/** A file that browsers keep: its name changes with its content. */
export function keptFile(name: string, kind: 'css' | 'js', body: string): { path: string; route: Route } {
  const path = `/${name}-${hash('sha256', body, 'base64url').slice(0, 12)}.${kind}`
  const headers = { 'cache-control': 'public, max-age=31536000, immutable' }
  const answer: Answer = { status: 200, type: `text/${kind === 'js' ? 'javascript' : kind};charset=utf-8`, headers, body }
  return { path, route: { method: 'GET', path, handle: () => answer } }
}
