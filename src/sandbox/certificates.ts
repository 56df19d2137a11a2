import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { Random } from '../base/random.ts'

/**
 * Makes sure that a directory has the certificates of the sandbox; a complete set is kept. A set
 * that a killed start left incomplete is replaced: only this sandbox trusts it.
 */
export async function makeCertificates(directory: string, random: Random, now: number): Promise<void> {
  if (['pares-mastercard.key', 'gateway-line.key', 'line-mac.key'].every((name) => existsSync(join(directory, name)))) return
  // The library that writes certificates takes a fifth of a second to load.
  const { createAuthority } = await import('./authority.ts')
  await createAuthority(directory, random, now)
}
