import type { Clock } from '../base/clock.ts'
import { secret, type Secret } from '../base/secret.ts'
import { hourAt, hourOf, keptHours, numbered, type HourKeys, type NumberedKey } from './hour-keys.ts'
import { askOf, base64, KeyServiceFailed, textAt, type KeyService } from './service.ts'

/** Anything: the key of an hour is the keyed hash of it, by a key that the service deletes. */
const hashed = base64('tollgate cvv2')
const hashPattern = /^vault:v1:(?<hash>[A-Za-z0-9+/]{43}=)$/

/**
 * The keys of the hours by a key service, for several machines on one database. The service has a
 * key for each hour, made by whoever asks first, and the gateway takes a keyed hash under it: the
 * same for every machine, and gone when the service deletes its key. They are held in memory here,
 * so a sale needs no call of the service. While the service is away, the last key that there is
 * goes on sealing.
 */
export function keyServiceHours(service: KeyService, clock: Pick<Clock, 'now'>): HourKeys {
  const ask = askOf(service)
  const held = new Map<number, NumberedKey>()
  const prefix = `${service.key}-cvv2-`
  const nameOf = (hour: number) => `${prefix}${hour}`

  /** The hours that the service has keys of. */
  async function hours(): Promise<number[]> {
    const { keys } = await ask('GET', 'keys?list=true')
    if (!Array.isArray(keys)) throw new KeyServiceFailed(`the key service at ${service.url} lists its keys in an unknown form`)
    return keys.filter((name) => String(name).startsWith(prefix)).map((name) => Number(String(name).slice(prefix.length)))
  }

  async function read(hour: number): Promise<void> {
    const answer = await ask('POST', `hmac/${nameOf(hour)}`, { input: hashed })
    const hash = hashPattern.exec(textAt(answer, 'hmac'))?.groups?.['hash']
    if (hash === undefined) throw new KeyServiceFailed(`the key service at ${service.url} returns hashes in an unknown form`)
    held.set(hour, numbered(hour, secret(Buffer.from(hash, 'base64'))))
  }

  /** Creating a key that there is changes nothing. */
  async function make(hour: number): Promise<void> {
    if (held.has(hour)) return
    await ask('POST', `keys/${nameOf(hour)}`, {})
    await ask('POST', `keys/${nameOf(hour)}/config`, { deletion_allowed: true })
    await read(hour)
  }

  /** Another machine may delete it first. */
  const destroy = (hour: number) => unlessMissing(ask('DELETE', `keys/${nameOf(hour)}`))

  return {
    current() {
      const now = hourAt(clock.now())
      const newest = held.get(now) ?? [...held.values()].findLast(({ version }) => hourOf(version) <= now)
      if (!newest) throw new Error('there is no key for the CVV2 values of this hour')
      return newest
    },
    version(version): Secret<Buffer> | undefined {
      const found = held.get(hourOf(version))
      return found?.version === version ? found.key : undefined
    },
    async turn() {
      const now = hourAt(clock.now())
      const oldest = now - keptHours
      for (const hour of await hours()) {
        if (hour < oldest) await destroy(hour)
        else if (hour < now && !held.has(hour)) await unlessMissing(read(hour))
      }
      await make(now)
      await make(now + 1)
      for (const hour of held.keys()) if (hour < oldest) held.delete(hour)
    },
  }
}

/** Vault answers 400 for a key that it does not have, and 404 where it cannot be read. */
async function unlessMissing(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch (error) {
    if (!(error instanceof KeyServiceFailed) || (error.status !== 400 && error.status !== 404)) throw error
  }
}
