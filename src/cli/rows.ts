/** Commands from rows: words, options, help, exit codes and what is printed follow from actions. */
import { createReadStream } from 'node:fs'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { reasonOf } from '../base/log.ts'
import { optionName } from '../entity/fields.ts'
import { jsonName, jsonText } from '../entity/json.ts'
import { Unreadable, type ValueKind } from '../entity/kinds.ts'
import { withCommands } from '../entity/show.ts'
import type { AnyAction, Inputs } from '../operator/action.ts'
import { Refused } from '../operator/refused.ts'
import { failureOf, WrongUsage } from './failure.ts'
import { blockText } from './present.ts'
import { performAt } from './desk.ts'
import type { Terminal } from './terminal.ts'

type AnyInput = Inputs[string]

/** Adds the commands that begin with this word. */
export function addSubject(
  program: Command,
  terminal: Terminal,
  first: string,
  { does, actions }: { does: string; actions: readonly (readonly [words: string, action: AnyAction])[] },
  perform: typeof performAt = performAt,
): void {
  const groups: Record<string, AnyAction['group']> = { [first]: { does } }
  for (const [words, { group }] of actions) if (group) Object.assign((groups[parentOf(words)] ??= {}), group)
  const groupOf = (words: readonly string[]): Command =>
    words.reduce((parent, word, i) => {
      const there = parent.commands.find((one) => one.name() === word)
      return there ?? parent.command(word).description(groups[words.slice(0, i + 1).join(' ')]?.does ?? '')
    }, program)
  for (const [words, action] of actions) {
    const path = words.split(' ')
    const command = groupOf(path.slice(0, -1)).command(path.at(-1)!).description(action.does)
    for (const [name, input] of Object.entries(action.takes)) addInput(command, name, input)
    if (!action.gives.parts) command.option('--json', 'print JSON for machines')
    command.addHelpText('after', helpText(action.more, action.examples))
    command.action(async () => {
      const { gives, leaves } = action
      const asJson = command.opts().json === true
      const asked = await askedBy(terminal, action, command)
      const found = (one: unknown) => asJson || terminal.print(blockText(gives.each!(one as never)))
      const worded = (error: unknown): never => {
        throw error instanceof Refused ? failureOf(error.refusal, action.takes) : error
      }
      const pour = gives.parts && ((from: unknown) => terminal.pour(gives.parts!(from, jsonText).texts))
      const result = await perform(terminal, words, action, asked, found, pour).catch(worded)
      if (pour) return
      if (gives.fails?.(result)) terminal.exitCode = 1
      const blocks = asJson ? undefined : gives.blocks?.(result, { asked, now: terminal.clock.now() })
      if (blocks === undefined) terminal.printJson(gives.json(result, asked))
      else if (blocks.length > 0) terminal.print((gives.each ? '\n' : '') + blocks.map(blockText).join('\n\n'))
      const left = leaves?.(result)
      if (left) throw failureOf(left, action.takes)
    })
  }
  for (const [group, about] of Object.entries(groups)) {
    const own = actions.filter(([words]) => words.startsWith(`${group} `))
    const examples = own.map(([, action]) => action.examples[0]!)
    if (own.length > 0) groupOf(group.split(' ')).addHelpText('after', helpText(about?.more, examples))
  }
}

const parentOf = (words: string): string => words.slice(0, Math.max(words.lastIndexOf(' '), 0))

function helpText(more: string | undefined, examples: readonly string[]): string {
  const all = `\nExamples\n${examples.map((one) => `  npx tollgate ${one}`).join('\n')}`
  return more === undefined ? all : `\n${withCommands(more)}\n${all}`
}

/** `<login>`, or `[login]` where it may be left out. */
export const placeText = (name: string, { needed }: AnyInput): string => (needed ? `<${jsonName(name)}>` : `[${jsonName(name)}]`)

/** `--port <number>`. */
export const optionText = (name: string, input: AnyInput): string =>
  `--${optionName(name, input)}${input.is.hint === '' ? '' : ` <${input.is.hint}>`}`

/** The meaning of an input, and its value if it is left out. */
export const meansText = ({ is, means, usual, change }: AnyInput): string =>
  usual === undefined || is.hint === '' || change === 'there' ? means : `${means} (${is.written(usual)})`

/** The option that takes a value away, if an entity may be without one. */
export const awayText = (name: string, input: AnyInput): string | undefined =>
  input.change && input.usual === undefined && !input.needed ? `--no-${optionName(name, input)}` : undefined

function addInput(command: Command, name: string, input: AnyInput): void {
  if (input.argument) return void command.argument(placeText(name, input), input.means)
  const row = new Option(optionText(name, input), meansText(input))
  if (input.needed && !input.change) row.makeOptionMandatory()
  if (input.is.isList) row.argParser((text: string, before?: string) => (before === undefined ? text : `${before},${text}`))
  command.addOption(row)
  const away = awayText(name, input)
  if (away !== undefined) command.option(away, 'takes it away')
}

/** The parser's value of an option; for `--no-answer` it says that there is no answer. */
const givenOf = (option: string, options: Record<string, unknown>): unknown =>
  option.startsWith('no-') ? options[camel(option.slice(3))] === false || undefined : options[camel(option)]

const camel = (option: string): string => option.replace(/-[a-z]/g, (two) => two[1]!.toUpperCase())

/** The inputs of an action from a command: read, and with all default values. */
async function askedBy(terminal: Terminal, { takes }: AnyAction, command: Command): Promise<Record<string, unknown>> {
  const asked: Record<string, unknown> = {}
  const options = command.opts<Record<string, unknown>>()
  const places: unknown[] = [...command.processedArgs]
  for (const [name, input] of Object.entries(takes)) {
    const option = optionName(name, input)
    const given = input.argument ? places.shift() : givenOf(option, options)
    if (given === undefined && !input.change && input.usual !== undefined) asked[name] = input.usual
    if (given === undefined && !input.piped) continue
    const called = input.argument ? `<${jsonName(name)}>` : `--${option}`
    asked[name] = given === false ? null : await readInput(terminal, called, input, given ?? '-')
  }
  return asked
}

async function readInput(terminal: Terminal, called: string, { is }: AnyInput, given: unknown): Promise<unknown> {
  if (given === true) return true
  const text = String(given)
  const read: unknown = is.fromBytes
    ? is.fromBytes(await bytesOf(terminal, called, text, is.mostBytes ?? 0))
    : is.read(is.orInput && text === '-' ? await terminal.readInput() : text)
  if (read instanceof Unreadable) throw new WrongUsage(`${called} must be ${read.must}.`)
  return read
}

/** Reads an argument of a command that is not a row. */
export const reads =
  <Value>(is: ValueKind<Value>) =>
  (text: string): Value => {
    const value = is.read(text)
    if (value instanceof Unreadable) throw new InvalidArgumentError(`It must be ${value.must}.`)
    return value
  }

/** The content of a file as it is; `-` is standard input. */
export async function bytesOf(terminal: Terminal, called: string, file: string, mostBytes: number): Promise<Buffer> {
  if (file === '-' && terminal.stdin().isTTY) terminal.complain('Paste it, then press Ctrl-D.')
  try {
    // Not by the size of the file: a device and a pipe say none.
    const read = await upTo(mostBytes + 1, file === '-' ? terminal.stdin() : createReadStream(file))
    if (read.length > mostBytes) throw new Error('it is too large')
    return read
  } catch (error) {
    throw new WrongUsage(`${called}: ${file} cannot be read: ${reasonOf(error)}`)
  }
}

async function upTo(most: number, stream: AsyncIterable<string | Buffer>): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of stream) {
    chunks.push(Buffer.from(chunk))
    if (chunks.reduce((sum, { length }) => sum + length, 0) >= most) break
  }
  return Buffer.concat(chunks).subarray(0, most)
}
