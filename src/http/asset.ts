import { readFileSync } from 'node:fs'

/** The style or script of a page: a file beside its module, read once as that loads. The build brings it to `dist`. */
export const asset = (file: URL): string => readFileSync(file, 'utf8')
