import { createInterface } from 'node:readline'
import type { BarPages } from '../src/http/bar.ts'

/**
 * The sandbox keeps a pipe to the standard input of each of its programs. A line of JSON has the
 * places of all pages, once everything serves. When the sandbox dies, however it dies, the pipe
 * ends.
 */
export function followParent(places: BarPages, stop: (why: string) => void): void {
  createInterface(process.stdin).on('line', (line) => Object.assign(places, JSON.parse(line)))
  process.stdin.on('end', () => stop('standard input ended'))
  process.stdin.on('error', () => stop('standard input broke'))
}
