import type { Log } from '../base/log.ts'
import type { TargetPolicy } from '../http/address.ts'
import type { KeyEncryption } from '../keys/encryption.ts'
import type { KeyRing } from '../keys/ring.ts'
import type { OrderDesk } from './desk.ts'

/** A desk at an installation; its keys are opened by the few actions that need them. */
export interface Office extends OrderDesk {
  databaseUrl: string
  /** Where merchants' servers may be called. */
  callbackPolicy: TargetPolicy
  /** With the login of its own merchant. */
  sandbox?: { login: string; directory: string; acquirerAdminUrl: string }
  /** Opens the keys of the installation; refuses a key-encryption key that does not match. */
  keys: () => Promise<KeyRing>
  /** The key-encryption key itself, to wrap new keys. */
  kek: () => KeyEncryption
  log: Log
  /** What long work says of itself while it works. */
  progress: (text: string) => void
}
