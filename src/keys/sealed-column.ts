import type { Random } from '../base/random.ts'
import { seal, unseal } from '../base/seal.ts'
import { secret, type Secret } from '../base/secret.ts'
import { bytea, statement, type Runner } from '../storage/pool.ts'
import type { SealedTable } from './reseal.ts'
import type { KeyRing } from './ring.ts'

/** A sealed value as it is stored, with the version of the key that seals it. */
export interface SealedValue {
  sealed?: Buffer | undefined
  version?: bigint | undefined
}

/** Its columns, and the one with the id of its row, to which its values belong. */
interface ColumnNames {
  table: string
  id: string
  sealed: string
  version: string
}

/** A column of the configuration, whose values are sealed with the key for those. */
export function sealedColumn({ table, id, sealed: column, version: versionColumn }: ColumnNames, place: string) {
  const write = statement<object>(`update ${table} set ${column} = $2, ${versionColumn} = $3 where ${id} = $1`)
  const contextOf = (rowId: bigint) => `${place}:${rowId}`
  const sealed = (plain: Secret<Buffer>, rowId: bigint, keys: Pick<KeyRing, 'current'>, random: Random) => {
    const { version, key } = keys.current('control')
    return { sealed: seal(key, plain.reveal(), contextOf(rowId), random), version }
  }
  return {
    /** How it is sealed again under a new key. */
    resealed: {
      table,
      purpose: 'control',
      id: { [id]: 'bigint' },
      version: versionColumn,
      sealed: { [column]: contextOf },
    } satisfies SealedTable,
    sealed,
    async replace(runner: Runner, rowId: bigint, plain: Secret<Buffer>, keys: Pick<KeyRing, 'current'>, random: Random) {
      const made = sealed(plain, rowId, keys, random)
      await runner.run(write, [rowId, bytea(made.sealed), made.version])
    },
    async drop(runner: Runner, rowId: bigint): Promise<void> {
      await runner.run(write, [rowId, null, null])
    },
    /** Undefined if the column is empty. Throws if the ring has no key of that version. */
    open(value: SealedValue, rowId: bigint, keys: Pick<KeyRing, 'version'>): Secret<Buffer> | undefined {
      if (value.sealed === undefined || value.version === undefined) return undefined
      const key = keys.version('control', value.version)
      if (!key) throw new Error(`control key ${value.version}, which seals the ${place} of ${table} ${rowId}, is missing`)
      return secret(unseal(key, value.sealed, contextOf(rowId)))
    },
  }
}
