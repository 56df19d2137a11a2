/** The keys of the vault: their versions, and how to replace them. */
import { sleep } from '../../base/clock.ts'
import { agoText, isoTime, timeText } from '../../base/moments.ts'
import { jsonBy, listSchema, schema } from '../../entity/json.ts'
import { choice, parsed, secretFile, span, whole } from '../../entity/kinds.ts'
import { hint, numbered, tableOf, type Block, type Column } from '../../entity/show.ts'
import { combineShares, splitKek } from '../../keys/shares.ts'
import { action, type Actions } from '../action.ts'
import { ownNumber } from '../inputs.ts'
import { Refused } from '../refused.ts'
import {
  listKeys,
  resealAll,
  resealingIn,
  retireKey,
  rewrapKeys,
  rotatable,
  rotateKeyOf,
  type CellResealing,
  type KeyVersion,
} from './versions.ts'

const aKey = { is: choice(rotatable, 'key'), argument: true, needed: true, means: `which: ${rotatable.join(', ')}` } as const

const aFile = (means: string) => ({ is: secretFile(65_536), argument: true, needed: true, means }) as const

function inShares<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new Refused({ what: 'unusable share', why: (error as Error).message })
  }
}

const versionNumber = parsed('version', 'the number of a version; see keys list', (digits) =>
  /^[1-9][0-9]{0,9}$/.test(digits) ? BigInt(digits) : undefined,
)

const keyColumns = (now: number): readonly Column<KeyVersion>[] => [
  { title: 'KEY', of: ({ purpose }) => purpose },
  numbered('VERSION', ({ version }) => version),
  { title: 'STATE', of: ({ state }) => state },
  { title: 'USED FROM (UTC)', of: ({ activeAt }) => timeText(activeAt) },
  { title: '', of: ({ activeAt }) => agoText(activeAt, now) },
  { title: 'WRAPPED BY', of: ({ kek }) => kek },
]

const resealingColumns = (resealing: readonly CellResealing[], now: number): readonly Column<CellResealing>[] => [
  ...(resealing.some(({ cellNo }) => cellNo > 0) ? [numbered<CellResealing>('CELL', ({ cellNo }) => cellNo)] : []),
  { title: 'TABLE', of: (one) => one.table },
  numbered('VERSION', ({ version }) => version),
  { title: 'ROWS', of: ({ rows }) => rows.toLocaleString('en'), align: 'right' },
  { title: 'STATE', of: (one) => resealingState(one, now) },
  { title: '', of: ({ dueAt, endedAt }) => agoText(endedAt ?? dueAt, now) },
]

const resealingState = ({ dueAt, endedAt }: CellResealing, now: number): 'ended' | 'coming' | 'under way' =>
  endedAt !== undefined ? 'ended' : dueAt > now ? 'coming' : 'under way'

const resealingJson = jsonBy('cell:count table version rows:count due_at:time ended_at:time?', (one: CellResealing) => ({
  ...one,
  cell: one.cellNo,
  version: String(one.version),
}))

const keyJson = jsonBy('key version state created_at:time active_at:time key_encryption_key?', (one: KeyVersion) => ({
  ...one,
  key: one.purpose,
  version: String(one.version),
  keyEncryptionKey: one.kek,
}))

export const keysActions: Actions = {
  'keys list': action({
    does: 'lists all keys and their versions, without the keys themselves',
    needs: 'read',
    takes: {},
    perform: async (office) => {
      const [versions, resealing] = await Promise.all([listKeys(office), resealingIn(office)])
      return { versions, resealing }
    },
    gives: {
      json: ({ versions, resealing }) => ({ keys: versions.map(keyJson), resealing: resealing.map(resealingJson) }),
      is: schema('resealing:object*', listSchema('keys', keyJson)),
      blocks: ({ versions, resealing }, { now }): Block[] =>
        versions.length === 0
          ? ['None yet; the first start of the gateway makes them.']
          : [
              tableOf(keyColumns(now), versions),
              ...(resealing.length === 0
                ? []
                : ['Sealed again by the gateways, under a new version', tableOf(resealingColumns(resealing, now), resealing)]),
            ],
    },
    more: `pan          seals card numbers; replaced by itself after a week
control      seals the control keys of merchants
digest       recognises a request that is sent again, and counts by limits
fingerprint  recognises a card at all merchants, to count wrong answers
card-id      makes card-hash-ids, which must never change, so it is never replaced
receipt      makes the ids of receipts
audit        signs the end of the audit trail
             (the hourly keys of CVV2 values are not in the database)`,
    examples: ['keys list --json'],
  }),
  'keys rotate': action({
    does: 'adds a version of a key; all processes use it ten seconds later',
    needs: 'system',
    takes: { key: aKey },
    async perform(office, { key }) {
      // Opens the keys that there are, so that a wrong key-encryption key cannot wrap a new one.
      await office.keys()
      return rotateKeyOf(office, office.kek(), key)
    },
    gives: {
      json: ({ version, activeAt }, { key }) => ({ key, version: String(version), active_at: isoTime(activeAt) }),
      blocks: ({ version, activeAt }, { asked: { key } }) => [
        `Version ${version} of the ${key} key is used from ${timeText(activeAt)} UTC, in ten seconds.`,
        ...(key === 'pan'
          ? [hint('From then on the gateways seal what is stored under it. To see how far that is', 'keys list')]
          : []),
        ...(key === 'control' ? [hint('To seal what there is under it, wait until then and run', 'keys rewrap')] : []),
      ],
    },
    more: `Payments go on, and older versions still open what they sealed. The gateways seal card numbers again in the
background; keys list shows the progress. keys rewrap seals the values of the configuration again.`,
    examples: ['keys rotate pan', 'keys rotate digest --json'],
  }),
  'keys rewrap': action({
    does: 'seals everything under the newest keys: data keys under the key-encryption key, values under their data key',
    needs: 'system',
    long: true,
    takes: {
      restMs: { is: span('0', '1min'), usual: 20, means: 'pause after each batch, so that payments are not kept waiting' },
      batch: { is: whole(1, 5_000), usual: 200, means: 'how many rows a batch has' },
    },
    async perform(office, { restMs, batch }) {
      const keys = await office.keys()
      const wrapped = await rewrapKeys(office, office.kek())
      let shownAt = office.clock.monotonic()
      const tables = await resealAll(office, keys, {
        batch,
        async rest({ cell, table, rows }) {
          const now = office.clock.monotonic()
          if (now - shownAt > 2_000) {
            office.progress(`… ${table}${cell === undefined ? '' : ` of cell ${cell}`}: ${rows.toLocaleString('en')} rows`)
            shownAt = now
          }
          if (restMs > 0) await sleep(office.clock, restMs)
        },
      })
      return { wrapped, tables }
    },
    gives: {
      json: ({ wrapped, tables }) => ({ keys: wrapped, tables }),
      blocks({ wrapped, tables }) {
        const rows = tables.reduce((sum, one) => sum + one.rows, 0)
        return [`${wrapped.toLocaleString('en')} keys were wrapped again, ${rows.toLocaleString('en')} rows sealed again.`]
      },
    },
    more: `Payments go on. The command can be stopped and run again at any time.

To replace the key-encryption key, write the new key above the old one in the file that TOLLGATE_KEY_FILE names, for
every process; run this command; then remove the old key from the file. No process has to be started again.`,
    examples: ['keys rewrap', 'keys rewrap --rest 0 --batch 1000'],
  }),
  'keys retire': action({
    does: 'destroys a version of a key that nothing needs any more',
    needs: 'system',
    long: true,
    takes: { key: aKey, version: { ...ownNumber, is: versionNumber, means: 'number of the version' } },
    perform: (office, { key, version }) => retireKey(office, key, version),
    gives: {
      json: (_, { key, version }) => ({ key, version: String(version), retired: true }),
      blocks: (_, { asked: { key, version } }) => [
        `Version ${version} of the ${key} key is destroyed. Backups of the database still have it, wrapped.`,
      ],
    },
    more: 'Refused, with the reason, if the version is still needed.',
    examples: ['keys retire pan 1'],
  }),
  'keys split': action({
    does: 'splits the key of a file into two shares for two custodians, each useless alone; - is standard input',
    needs: 'system',
    here: true,
    alone: () => true,
    takes: { file: aFile('that has the key') },
    perform: async ({ random }, { file }) => inShares(() => splitKek(file.reveal(), random)),
    gives: {
      json: (shares) => ({ shares }),
      blocks: ([one, other]) => [`Share 1, for one custodian\n  ${one}`, `Share 2, for the other\n  ${other}`],
    },
    examples: ['keys split kek.txt'],
  }),
  'keys combine': action({
    does: 'combines two shares and prints the key, for the file that TOLLGATE_KEY_FILE names',
    needs: 'system',
    here: true,
    alone: () => true,
    takes: { share: aFile('a file with one of them'), other: aFile('and one with the other') },
    perform: async (_office, { share, other }) => inShares(() => combineShares(share.reveal(), other.reveal())),
    gives: { json: (key) => ({ key }), blocks: (key) => [key] },
    examples: ['keys combine share-1.txt share-2.txt > /run/tollgate/kek'],
  }),
}
