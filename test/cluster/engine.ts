import type { Act } from './plan.ts'
import type { Part } from './part.ts'
import type { Site } from './site.ts'

/** What is done to whom, and undone. */
export interface Trouble {
  whom: string
  make: () => Promise<void> | void
  undo?: () => Promise<void> | void
  /** What is left to do when all is well again. */
  finish?: () => Promise<void>
  /** The cells that no process can serve until it is undone. */
  down?: readonly number[]
}

/** What carries an installation: PostgreSQL under Patroni, or with Citus. */
export interface Engine {
  readonly site: Site
  readonly ports: Readonly<Record<'gateways' | 'operators', readonly [number, number]>>
  readonly passwords: { owner: string; gateway: string }
  /** A merchant sells in each. */
  readonly cells: readonly number[]
  /** What it promises beyond the books, and what was looked at. */
  readonly promise: string
  /** Resolves with what is there, in words. */
  start(ended: AbortSignal): Promise<string>
  superuserUrl(database: string): Promise<string>
  /** What the new database needs before its tables are made. */
  prepare(): Promise<void>
  /** By which a gateway reaches the database of the installation. */
  urlOf(at: 0 | 1, user: string, password: string): string
  isWell(): Promise<boolean>
  /** Gateways that use a server which they should not, in words. */
  strayed(): Promise<string[]>
  /** Undefined if the role is vacant now. */
  troubleOf(act: Act, gateways: readonly [Part, Part]): Promise<Trouble | undefined>
  close(keep: boolean): Promise<void>
}
