import { spawn, type ChildProcess } from 'node:child_process'
import type { Command } from 'commander'
import { programFile } from '../../sandbox/programs.ts'
import type { Terminal } from '../terminal.ts'

/** Runs the reference merchant server, a separate program that the gateway does not contain. */
export function addMerchantServerCommand(program: Command, terminal: Terminal): void {
  program
    .command('merchant-server')
    .description("starts an example of a merchant's server for the mobile API: tokens, initiate, check, notification, cards")
    .addHelpText(
      'after',
      `
Environment
  MERCHANT_SERVER_CONFIG   a JSON file:

    login              login of the merchant
    control_key        32 hexadecimal digits, dashes not counted
    endpoints          for verification, sale and transfer an endpoint id, or ids by currency: {"USD": 104, "EUR": 105};
                       instead of an id a list: the app chooses by endpointId at initiate, and the first is the default
    database_url       PostgreSQL; the tables are made in the schema merchant_server
    host, port         where to listen (127.0.0.1; 0, a free port)
    rates              min and max, texts: what a transfer may cost, for the app to show
    check              currency: true puts the currency into each answer; random_sum_centis: 100 to 999 asks for that sum
    consumers          by name: email, birth_day (ddMMyyyy), billing
    blocked_consumers  names of consumers who get the answer FILTERED
    journal            true keeps the last 200 calls and shows them to anybody at /log: not for production

  LOG_LEVEL                debug, info, warn, error (info), on standard error

When the server is ready, it prints one line of JSON with its port and URL. The sandbox starts one itself.

Examples
  MERCHANT_SERVER_CONFIG=/etc/shop/mobile.json npx tollgate merchant-server`,
    )
    .action(async () => {
      // However this process ends, the pipe to the server's standard input ends with it.
      const child = spawn(process.execPath, [programFile('merchant-server'), '--die-with-parent'], {
        stdio: ['pipe', 'inherit', 'inherit'],
      })
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill('SIGTERM'))
      terminal.exitCode = await exitCodeOf(child)
    })
}

export const exitCodeOf = (child: ChildProcess): Promise<number> =>
  new Promise((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
