/** Readers of arguments and options. Invalid values are refused by name. */
import { InvalidArgumentError } from 'commander'
import { readFileSync, statSync } from 'node:fs'
import { textOf } from '../../base/csv.ts'
import { currentCurrencyOf } from '../../base/money.ts'
import type { UnfitValue } from '../../entity/misfit.ts'
import type { Terminal } from '../terminal.ts'
import { WrongUsage } from './failure.ts'

export const jsonOption = ['--json', 'print JSON for machines'] as const

export function aCurrency(text: string): string {
  const found = currentCurrencyOf(text.toUpperCase())
  if (!found) throw new InvalidArgumentError('It is not a currency of ISO 4217, such as USD, EUR or JPY.')
  return found.code
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
