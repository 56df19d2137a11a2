import type { Command } from 'commander'
import { spawn } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { exitCodeOf } from './merchant-server.ts'
import type { Terminal } from '../terminal.ts'
import { whole } from '../../entity/kinds.ts'
import { reads } from '../rows.ts'

/** Replays one seed of the simulation, a separate program that the gateway does not contain. */
export function addSimulateCommand(program: Command, terminal: Terminal): void {
  program
    .command('simulate')
    .description('replays one seed of the simulation: two gateways, an acquirer and merchants, in one process on a virtual clock')
    .requiredOption('--seed <number>', 'the seed, which decides everything that happens', reads(whole(0, 999_999_999_999)))
    .option('--orders <number>', 'how many sales to make (300)', reads(whole(1, 1_000_000)))
    .option(
      '--cells <number>',
      'how many cells, at most 8; there are then three gateways, and merchants move between cells',
      reads(whole(1, 8)),
    )
    .option('--trace', 'prints the whole time line; without it only the end, and only after a failure')
    .addHelpText(
      'after',
      `
The same seed gives the same time line, byte for byte. The run stops at the first broken promise, with exit code 1.

Examples
  npx tollgate simulate --seed 42
  npx tollgate simulate --seed 42 --orders 40 --trace
  npx tollgate simulate --seed 42 --orders 40 --cells 8`,
    )
    .action(async (options: { seed: number; orders?: number; cells?: number; trace?: true }) => {
      const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, ...(value === true ? [] : [String(value)])])
      const simulation = join(dirname(fileURLToPath(import.meta.url)), '../../../simulation/program.js')
      const child = spawn(process.execPath, [simulation, ...args], { stdio: 'inherit' })
      terminal.exitCode = await exitCodeOf(child)
    })
}
