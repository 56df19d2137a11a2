import type { Own } from './merchants.ts'

/**
 * A whole sandbox, and in it merchants of the test's own. Endpoints: plain: USD, euro: EUR, both
 * without 3-D Secure; secure: USD with it. `disabled` is switched off, `strict` wants a phone
 * number, `hundredths` signs yen times a hundred, `dinars` dinars.
 */
export interface World extends Own {
  /** With `/gateway`. */
  baseUrl: string
  /** Where the gateway has `/health`, `/ready` and `/metrics`. */
  operatorUrl: string
  acquirerAdminUrl: string
  directoryServerUrl: string
  acsUrl: string
  /** Where callbacks go, and what the mobile API calls. */
  merchantServerUrl: string
  /** The shop of the sandbox, without a slash at the end. */
  shopUrl: string
  /** As the owner of the tables. */
  databaseUrl: string
  /** As the sandbox's gateway connects. */
  gatewayDatabaseUrl: string
  /** Whether other files use or used it. */
  isShared: boolean
  directory: string
  /** The sandbox's process, which is the gateway's too. */
  pid: number
  /** Everything the sandbox printed. */
  output(): string
  /**
   * Kills the gateway with SIGKILL and starts the sandbox again on the same port and data;
   * `meanwhile` is done while it is dead.
   */
  crash(meanwhile?: () => Promise<void>): Promise<void>
  /** The two halves of a crash. */
  kill(): Promise<void>
  start(): Promise<void>
  /** Stops the sandbox as Ctrl-C does; its database and directory stay until `stop`. */
  halt(): Promise<void>
  stop(): Promise<void>
}

/** What a world is that another process has started. */
export type SharedWorld = Omit<World, 'isShared' | 'output' | 'crash' | 'kill' | 'start' | 'halt' | 'stop'>

/** How long a message waits for a line that is down: longer than a silent process is believed. */
export const sendWithinMs = 12_000

export interface WorldOptions {
  /** For a test that stops the sandbox, or that counts in the whole of it. */
  own?: true
  env?: Record<string, string>
  /** The sandbox's own, durable PostgreSQL instead of a database on the server of the tests. */
  embedded?: boolean
  /** An empty database on a server of the test's own. */
  databaseUrl?: string
  /** Another URL of the same database for the gateway: through a proxy. */
  through?: (databaseUrl: string) => Promise<string>
}

export const crashBy =
  ({ kill, start }: Pick<World, 'kill' | 'start'>): World['crash'] =>
  async (meanwhile) => {
    await kill()
    await meanwhile?.()
    await start()
  }
