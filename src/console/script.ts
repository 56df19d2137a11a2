/** The script of the console's pages. */
import { asset, keptFile } from '../http/asset.ts'

export const { path: scriptPath, route: scriptRoute } = keptFile('desk', 'js', asset(new URL('./desk.js', import.meta.url)))
