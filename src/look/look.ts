/** The style that pages share; those of the console load it from its own path. */
import { hash } from 'node:crypto'
import { asset } from '../http/asset.ts'
import { storyStyle } from './story.ts'
import type { Answer, Route } from '../http/server.ts'

/** What every page begins with. */
export const lookStyle = asset(new URL('./look.css', import.meta.url))
const workStyle = asset(new URL('./work.css', import.meta.url))
/** Of the pages of a sandbox, on top of it. */
export const sandboxStyle = workStyle + asset(new URL('./sandbox.css', import.meta.url))

const style = lookStyle + workStyle + asset(new URL('./frame.css', import.meta.url)) + storyStyle
const stylePath = `/look-${hash('sha256', style, 'base64url').slice(0, 12)}.css`

/** Its name changes with its content, so browsers keep it. */
const kept = { 'cache-control': 'public, max-age=31536000, immutable' }

export const lookRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: stylePath,
    handle: (): Answer => ({ status: 200, type: 'text/css;charset=utf-8', headers: kept, body: style }),
  },
]

export { stylePath }
