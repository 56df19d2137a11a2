/** Readers of arguments and options. Invalid values are refused by name. */
import { InvalidArgumentError } from 'commander'
import { readFileSync, statSync } from 'node:fs'
import type { Clock } from '../../base/clock.ts'
import { textOf } from '../../base/csv.ts'
import { currentCurrencyOf } from '../../base/money.ts'
import { readMoment, readSpan } from '../../base/moments.ts'
import type { UnfitValue } from '../../operator/refused.ts'
import type { Terminal } from '../terminal.ts'
import { WrongUsage } from './failure.ts'

export const jsonOption = ['--json', 'print JSON for machines'] as const

export function anId(text: string): bigint {
  if (!/^[1-9][0-9]{0,17}$/.test(text)) throw new InvalidArgumentError('It is not an id, which is a whole number.')
  return BigInt(text)
}

export const someIds = (text: string, before: bigint[] = []): bigint[] => [
  ...before,
  ...text.split(',').map((part) => anId(part.trim())),
]

export const someTexts = (text: string, before: string[] = []): string[] => [
  ...before,
  ...text.split(',').map((part) => part.trim()),
]

export function aSwitch(text: string): boolean {
  if (text !== 'on' && text !== 'off') throw new InvalidArgumentError('Say on or off.')
  return text === 'on'
}

export function aCurrency(text: string): string {
  const found = currentCurrencyOf(text.toUpperCase())
  if (!found) throw new InvalidArgumentError('It is not a currency of ISO 4217, such as USD, EUR or JPY.')
  return found.code
}

export const aMoment =
  (clock: Clock) =>
  (text: string): number => {
    const at = readMoment(text, clock.now())
    if (at === undefined)
      throw new InvalidArgumentError('Say a date (2030-01-31), a time in UTC (2030-01-31T12:00) or how long ago (2h, 7d).')
    return at
  }

export function aSpan(text: string): number {
  const span = readSpan(text)
  if (span === undefined) throw new InvalidArgumentError('Say a span such as 500ms, 30s, 10min, 24h or 7d.')
  return span
}

export const aNumber =
  (least: number, most: number) =>
  (text: string): number => {
    const number = Number(text)
    if (!/^[0-9]{1,12}$/.test(text) || number < least || number > most)
      throw new InvalidArgumentError(`It is not a whole number from ${least} to ${most}.`)
    return number
  }

/** A reader from a function that returns an error message for an invalid value. */
export const fitting =
  <T>(read: (text: string) => T | string) =>
  (text: string): T => {
    const value = read(text)
    if (typeof value === 'string') throw new InvalidArgumentError(value)
    return value
  }

/** A text that passes a check. */
export const judged =
  (judge: (text: string) => UnfitValue | undefined) =>
  (text: string): string => {
    const unfit = judge(text)
    if (unfit) throw new InvalidArgumentError(`It must be ${unfit.must}.`)
    return text
  }

export const oneOf =
  <T extends string>(...words: readonly T[]) =>
  (text: string): T => {
    const word = words.find((w) => w === text)
    if (word === undefined) throw new InvalidArgumentError(`Say ${words.join(', ')}.`)
    return word
  }

export const aLimit = aNumber(1, 1_000)

/**
 * The text of a file; `-` is standard input, without blanks around it. An unreadable file is
 * refused with its option.
 */
export async function fileText(
  terminal: Terminal,
  file: string,
  option = '--file',
  mostBytes = 256 * 1024 * 1024,
): Promise<string> {
  const text = textOf(await fileBytes(terminal, file, option, mostBytes))
  return file === '-' ? text.trim() : text
}

/** The content of a file as it is; `-` is standard input. */
export async function fileBytes(
  terminal: Terminal,
  file: string,
  option: string,
  mostBytes = 256 * 1024 * 1024,
): Promise<Buffer> {
  if (file === '-') return terminal.readBytes()
  try {
    if (statSync(file).size > mostBytes) throw new Error('it is too large')
    return readFileSync(file)
  } catch (error) {
    throw new WrongUsage(`${option}: ${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
  }
}
