/** The script of the console's pages. */
import { hash } from 'node:crypto'
import { asset } from '../http/asset.ts'
import type { Route } from '../http/server.ts'

const script = asset(new URL('./desk.js', import.meta.url))
export const scriptPath = `/desk-${hash('sha256', script, 'base64url').slice(0, 12)}.js`

export const scriptRoute: Route = {
  method: 'GET',
  path: scriptPath,
  handle: () => ({
    status: 200,
    type: 'text/javascript;charset=utf-8',
    headers: { 'cache-control': 'public, max-age=31536000, immutable' },
    body: script,
  }),
}
