/** What verbs have in common. */
import type { Command } from 'commander'
import { jsonOption } from './options.ts'

/** A verb with `--json` and examples. */
export const verb = (parent: Command, name: string, description: string, ...examples: string[]): Command =>
  parent
    .command(name)
    .description(description)
    .option(...jsonOption)
    .addHelpText('after', `\nExamples\n${examples.map((example) => `  npx tollgate ${example}`).join('\n')}`)
