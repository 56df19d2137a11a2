import type { Command } from 'commander'
import { splitKek, combineShares } from '../../../keys/shares.ts'
import type { Terminal } from '../../terminal.ts'
import { verb } from '../entity.ts'
import { Failure } from '../failure.ts'
import { fileText } from '../options.ts'

export function addShareCommands(keys: Command, terminal: Terminal): void {
  verb(
    keys,
    'split <file>',
    'the key of a file as two shares for two custodians, each useless alone; - is standard input',
    'keys split kek.txt',
  ).action(split.bind(undefined, terminal))
  keys
    .command('combine <file> <file>')
    .description('the key of two shares, for the file that TOLLGATE_KEY_FILE names')
    .addHelpText('after', '\nExamples\n  npx tollgate keys combine share-1.txt share-2.txt > /run/tollgate/kek')
    .action(combine.bind(undefined, terminal))
}

async function split(terminal: Terminal, file: string, options: { json?: true }): Promise<void> {
  const text = await fileText(terminal, file, '<file>')
  const shares = inShares(() => splitKek(text, terminal.random))
  if (options.json) return terminal.printJson({ shares })
  terminal.print(`Share 1, for one custodian\n  ${shares[0]}\n\nShare 2, for the other\n  ${shares[1]}`)
}

async function combine(terminal: Terminal, first: string, second: string): Promise<void> {
  const shares = [await fileText(terminal, first, '<file>'), await fileText(terminal, second, '<file>')] as const
  terminal.print(inShares(() => combineShares(...shares)))
}

function inShares<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new Failure((error as Error).message)
  }
}
