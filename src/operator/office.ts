import type { Log } from '../base/log.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { KeyEncryption } from '../keys/encryption.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { Databases, OrderDesk } from './desk.ts'
import type { Rights } from './permissions.ts'

/** The installation that an operator works on. */
export interface Installation {
  databaseUrl: string
  /** Where merchants' servers may be called. */
  callbackPolicy: TargetPolicy
  /** If it is one, whose cards are test cards. */
  sandbox?: Sandbox
  /** The key-encryption key itself, to wrap new keys. */
  kek: () => KeyEncryption
}

/** A sandbox as its sandbox.json has it. */
export interface Sandbox {
  directory: string
  pid: number
  isRunning: boolean
  baseUrl: string
  acquirerAdminUrl: string
  /** The simulated issuer, which shows its test cards. */
  issuerUrl: string
  /** The login of its own merchant. */
  login: string
  oauthPrivateKeyFile: string
}

/** A desk at an installation; its keys are opened by the few actions that need them. */
export interface Office extends OrderDesk, Installation {
  /** Opens the keys of the installation; refuses a key-encryption key that does not match. */
  keys: () => Promise<KeyRing>
  log: Log
  /** The same databases for an action that changes nothing: each transaction only reads. */
  reading?: Databases
  rights: Rights
  /** The name of the user who acts, if it is one; the command line has none. */
  user?: string
  /** The action was confirmed by a second user. */
  confirms?: true
  /** That something could not be written down, which does not keep it from being shown. */
  unrecorded: () => void
  /** Reports the progress of long work. */
  progress: (text: string) => void
  /** Writes down who looks at these; for an action that shows some results before all. */
  seen?: (some: unknown) => Promise<void>
  /** Takes one of many results as soon as it is there. */
  found?: ((one: unknown) => void) | undefined
}
