import { Argument, type Command, InvalidArgumentError } from 'commander'
import { sleep } from '../../../base/clock.ts'
import { agoText, timeText } from '../../../base/moments.ts'
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
  type Rotatable,
} from '../../../operator/keys/versions.ts'
import { splitKek, combineShares } from '../../../keys/shares.ts'
import type { Terminal } from '../../terminal.ts'
import { verb } from '../entity.ts'
import { Failure } from '../failure.ts'
import { atOffice } from '../installation.ts'
import { aNumber, fileText, jsonOption } from '../options.ts'
import { table, type Column } from '../present.ts'

export function addKeysCommands(program: Command, terminal: Terminal): void {
  const keys = program.command('keys').description('the keys of the vault: their versions, and how to replace them')
  keys
    .command('list')
    .description('all versions, without the keys themselves')
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
pan          seals card numbers; replaced by itself after a week
control      seals the control keys of merchants
digest       recognises a request that is sent again, and counts by limits
fingerprint  recognises a card at all merchants, to count wrong answers
card-id      makes card-hash-ids, which must never change, so it is never replaced
receipt      makes the ids of receipts
audit        signs the end of the audit trail
             (the hourly keys of CVV2 values are not in the database)

Examples
  npx tollgate keys list --json`,
    )
    .action(list.bind(undefined, terminal))
  keys
    .command('rotate')
    .description('adds a version of a key, which all processes use ten seconds later')
    .addArgument(new Argument('<key>', 'which').choices(rotatable))
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Payments run on, and older versions still open what they sealed. The gateways seal card numbers again, in the background;
npx tollgate keys list shows how far that is. For what the configuration has: npx tollgate keys rewrap

Examples
  npx tollgate keys rotate pan
  npx tollgate keys rotate digest --json`,
    )
    .action(rotate.bind(undefined, terminal))
  keys
    .command('rewrap')
    .description('brings everything under the newest keys: keys under the key-encryption key, values under their key')
    .option('--rest <ms>', 'pause after each batch, so that payments are not kept waiting', aNumber(0, 60_000), 20)
    .option('--batch <rows>', 'rows of a batch', aNumber(1, 5_000), 200)
    .option(...jsonOption)
    .addHelpText(
      'after',
      `
Payments run on. It can be stopped and begun again at any time.

To replace the key-encryption key, write the new key above the old one in the file that TOLLGATE_KEY_FILE names, for
every process; run this command; then remove the old key from the file. No process has to be started again.

Examples
  npx tollgate keys rewrap
  npx tollgate keys rewrap --rest 0 --batch 1000`,
    )
    .action(rewrap.bind(undefined, terminal))
  keys
    .command('retire')
    .description('destroys a version that nothing needs any more')
    .addArgument(new Argument('<key>', 'which').choices(rotatable))
    .argument('<version>', 'its number', aVersion)
    .option(...jsonOption)
    .addHelpText(
      'after',
      '\nA version that is still needed is refused, with the reason.\n\nExamples\n  npx tollgate keys retire pan 1',
    )
    .action(retire.bind(undefined, terminal))
  addShareCommands(keys, terminal)
}

function addShareCommands(keys: Command, terminal: Terminal): void {
  verb(
    keys,
    'split <file>',
    'the key of a file as two shares for two custodians, each useless alone; - is standard input',
    'keys split kek.txt',
  ).action(split.bind(undefined, terminal))
  keys
    .command('combine <file> <file>')
    .description('the key of two shares, for the file that TOLLGATE_KEY_FILE names')
    .addHelpText('after', '\nExamples\n  npx tollgate keys combine share-1.txt share-2.txt > /run/tollgate/kek')
    .action(combine.bind(undefined, terminal))
}

function aVersion(text: string): bigint {
  if (/^[1-9][0-9]{0,9}$/.test(text)) return BigInt(text)
  throw new InvalidArgumentError('It is the number of a version; see: npx tollgate keys list')
}

async function list(terminal: Terminal, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    const [versions, resealing] = await Promise.all([listKeys(office), resealingIn(office)])
    if (options.json) return terminal.printJson({ keys: versions.map(keyJson), resealing: resealing.map(resealingJson) })
    if (versions.length === 0) return terminal.print('None yet; the first start of the gateway makes them.')
    const now = terminal.clock.now()
    terminal.print(
      table(
        [
          { title: 'KEY', of: ({ purpose }) => purpose },
          { title: 'VERSION', of: ({ version }) => String(version), align: 'right' },
          { title: 'STATE', of: ({ state }) => state, colour: ({ state }) => (state === 'older' ? 'dim' : undefined) },
          { title: 'USED FROM (UTC)', of: ({ activeAt }) => timeText(activeAt) },
          { title: '', of: ({ activeAt }) => agoText(activeAt, now) },
          { title: 'WRAPPED BY', of: ({ kek }) => kek },
        ],
        versions,
      ),
    )
    if (resealing.length === 0) return
    terminal.print('\nSealed again by the gateways, under a new version\n')
    terminal.print(
      table<CellResealing>(
        [
          ...(resealing.some(({ cellNo }) => cellNo > 0) ? [cellColumn] : []),
          { title: 'TABLE', of: (one) => one.table },
          { title: 'VERSION', of: ({ version }) => String(version), align: 'right' },
          { title: 'ROWS', of: ({ rows }) => rows.toLocaleString('en'), align: 'right' },
          { title: 'STATE', of: (one) => resealingState(one, now) },
          { title: '', of: ({ dueAt, endedAt }) => agoText(endedAt ?? dueAt, now) },
        ],
        resealing,
      ),
    )
  })
}

const cellColumn: Column<CellResealing> = { title: 'CELL', of: ({ cellNo }) => String(cellNo), align: 'right' }

const resealingState = ({ dueAt, endedAt }: CellResealing, now: number): 'ended' | 'coming' | 'under way' =>
  endedAt !== undefined ? 'ended' : dueAt > now ? 'coming' : 'under way'

const resealingJson = (one: CellResealing) => ({
  cell: one.cellNo,
  table: one.table,
  version: String(one.version),
  rows: one.rows,
  due_at: new Date(one.dueAt).toISOString(),
  ended_at: one.endedAt === undefined ? null : new Date(one.endedAt).toISOString(),
})

const keyJson = ({ purpose, version, state, createdAt, activeAt, kek }: KeyVersion) => ({
  key: purpose,
  version: String(version),
  state,
  created_at: new Date(createdAt).toISOString(),
  active_at: new Date(activeAt).toISOString(),
  key_encryption_key: kek,
})

async function rotate(terminal: Terminal, purpose: Rotatable, options: { json?: true }): Promise<void> {
  await atOffice(terminal, async (office) => {
    // Opens the keys that there are, so that a wrong key-encryption key cannot wrap a new one.
    await office.keys()
    const { version, activeAt } = await rotateKeyOf(office, office.installation.kek(), purpose)
    if (options.json)
      return terminal.printJson({ key: purpose, version: String(version), active_at: new Date(activeAt).toISOString() })
    terminal.print(`Version ${version} of the ${purpose} key is used from ${timeText(activeAt)} UTC, in ten seconds.`)
    if (purpose === 'pan')
      terminal.print('From then on the gateways seal what is stored under it. To see how far that is: npx tollgate keys list')
    if (purpose === 'control') terminal.print('To seal what there is under it, wait until then and run: npx tollgate keys rewrap')
  })
}

async function rewrap(terminal: Terminal, { rest, batch, json }: { rest: number; batch: number; json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      const keys = await office.keys()
      const wrapped = await rewrapKeys(office, office.installation.kek())
      let shownAt = terminal.clock.monotonic()
      const done = await resealAll(office, keys, {
        batch,
        async rest({ cell, table: name, rows }) {
          const now = terminal.clock.monotonic()
          if (!json && now - shownAt > 2_000) {
            terminal.complain(`… ${name}${cell === undefined ? '' : ` of cell ${cell}`}: ${rows.toLocaleString('en')} rows`)
            shownAt = now
          }
          if (rest > 0) await sleep(terminal.clock, rest)
        },
      })
      const rows = done.reduce((sum, one) => sum + one.rows, 0)
      if (json) return terminal.printJson({ keys: wrapped, tables: done })
      terminal.print(`${wrapped.toLocaleString('en')} keys were wrapped again, ${rows.toLocaleString('en')} rows sealed again.`)
    },
    'admin',
  )
}

async function retire(terminal: Terminal, purpose: Rotatable, version: bigint, options: { json?: true }): Promise<void> {
  await atOffice(
    terminal,
    async (office) => {
      await retireKey(office, purpose, version)
      if (options.json) return terminal.printJson({ key: purpose, version: String(version), retired: true })
      terminal.print(`Version ${version} of the ${purpose} key is destroyed. Backups of the database still have it, wrapped.`)
    },
    'admin',
  )
}

async function split(terminal: Terminal, file: string, options: { json?: true }): Promise<void> {
  const text = await fileText(terminal, file, '<file>')
  const shares = inShares(() => splitKek(text, terminal.random))
  if (options.json) return terminal.printJson({ shares })
  terminal.print(`Share 1, for one custodian\n  ${shares[0]}\n\nShare 2, for the other\n  ${shares[1]}`)
}

async function combine(terminal: Terminal, first: string, second: string): Promise<void> {
  const shares = [await fileText(terminal, first, '<file>'), await fileText(terminal, second, '<file>')] as const
  terminal.print(inShares(() => combineShares(...shares)))
}

function inShares<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    throw new Failure((error as Error).message)
  }
}
