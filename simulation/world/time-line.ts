import { pino } from 'pino'
import type { Log } from '../../src/base/log.ts'
import type { Events } from './clock.ts'

/** Writes a line of the time line; `what` is only called when somebody reads it. */
export type Trace = (what: () => string) => void

/** Minutes, seconds and milliseconds since the start. */
export function clockText(ms: number): string {
  const [minutes, seconds, rest] = [Math.floor(ms / 60_000), Math.floor((ms / 1_000) % 60), Math.floor(ms % 1_000)]
  return `${minutes}:${String(seconds).padStart(2, '0')}.${String(rest).padStart(3, '0')}`.padStart(10)
}

export const openTrace =
  (events: Events, write: ((line: string) => void) | undefined): Trace =>
  (what) =>
    write?.(`${clockText(events.now)}  ${what()}`)

export const silentLog: Log = pino({ level: 'silent' })

/** Writes warnings and errors of the gateways to the time line. */
export function logTo(trace: Trace): Log {
  const write = (text: string) => {
    const { msg, level: _level, ...facts } = JSON.parse(text) as { msg: string; level: number }
    trace(() => `log      ${msg} ${JSON.stringify(facts)}`)
  }
  return pino({ level: 'warn', base: null, timestamp: false }, { write })
}
