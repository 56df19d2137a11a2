/** The style that pages share; those of the console load it from its own path. */
import { asset, keptFile } from '../http/asset.ts'
import { storyStyle } from './story.ts'
import type { Route } from '../http/server.ts'

/** The head of every page. */
export const lookStyle = asset(new URL('./look.css', import.meta.url))
const workStyle = asset(new URL('./work.css', import.meta.url))
/** The bar on top of the pages of a sandbox. */
export const sandboxStyle = workStyle + asset(new URL('./sandbox.css', import.meta.url))

const style = lookStyle + workStyle + asset(new URL('./frame.css', import.meta.url)) + storyStyle
const { path: stylePath, route } = keptFile('look', 'css', style)

export const lookRoutes: readonly Route[] = [route]

export { stylePath }
