import type { Command } from 'commander'
import { keepHeapSmall } from '../../base/heap.ts'
import { databaseUrlOf } from '../../settings/database.ts'
import { configured, sandboxConfig } from '../../settings/serve.ts'
import type { Terminal } from '../terminal.ts'

export function addSandboxCommand(program: Command, terminal: Terminal): void {
  program
    .command('sandbox')
    .description('starts everything on this machine, offline: gateway, database, a simulated card world, a shop')
    .addHelpText(
      'after',
      `
Environment
  PORT           port of the gateway (8080; 0 takes a free one); the other parts take free ports
  OPERATOR_PORT  port of the gateway's /health, /ready and /metrics (a free one)
  TOLLGATE_DIR   where data, keys and sandbox.json are kept (./.tollgate)
  DATABASE_URL   use this PostgreSQL 15 or newer instead of the embedded one; also DATABASE_URL_FILE

Examples
  npm start
  PORT=8090 TOLLGATE_DIR=/tmp/second npx tollgate sandbox`,
    )
    .action(async () => {
      const config = sandboxConfig(terminal.env)
      const DATABASE_URL = configured((complaints) => databaseUrlOf(terminal.env, complaints))
      keepHeapSmall()
      // Only this command loads it: without the gateway the others answer twice as fast.
      const { runSandbox } = await import('../../sandbox/run.ts')
      terminal.exitCode = await runSandbox({ ...terminal.env, DATABASE_URL }, config)
    })
}
