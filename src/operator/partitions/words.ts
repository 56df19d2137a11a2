/** Why a partition is not detached, or not dropped. */
import { counted, timeText } from '../../base/moments.ts'
import { wordsOf, type Worded } from '../../entity/words.ts'

/** A partition of a cell. */
export interface CellPart {
  cellNo: number
  number: bigint
}

export const partText = ({ cellNo, number }: CellPart): string => (cellNo === 0 ? String(number) : `${number} of cell ${cellNo}`)

/** How many rows there are of it. */
interface Count {
  count: bigint
}

const verb = ({ count }: Count, one: string, several: string): string => (count === 1n ? one : several)

/** The reasons why the gateway still needs a partition. */
const needs = {
  current: () => 'new orders get ids in it',
  /** It may have reserved them before the later ones were used. */
  gateway: ({ instance, startedAt }: { instance: string; startedAt: number }) =>
    `gateway ${instance} started at ${timeText(startedAt)} UTC and may still use ids in it: restart that gateway`,
  'default partition': ({ table }: { table: string }) =>
    `${table} has a default partition, which prevents detaching while payments go on: detach it by hand`,
  open: (of: Count) => `${counted(of.count, 'transaction')} of it ${verb(of, 'has', 'have')} not ended`,
  callbacks: (of: Count) => `${counted(of.count, 'callback')} of it ${verb(of, 'is', 'are')} still to be delivered`,
  young: (of: Count) => `${counted(of.count, 'transaction')} of it ended after that time, so returns and disputes may follow`,
  invoices: (of: Count) => `${counted(of.count, 'open transaction')} of the mobile API ${verb(of, 'leads', 'lead')} to it`,
  'idempotency keys': (of: Count) =>
    `${counted(of.count, 'Idempotency-Key')} of the last day ${verb(of, 'stands', 'stand')} for it`,
}
export type PartitionNeed = Worded<typeof needs>
export const needText = wordsOf(needs)

interface Named {
  name: string
}

/** Why the export of a partition does not prove that its rows are kept. */
const unprovens = {
  'half detached': () => 'it is not detached completely. Run partitions detach again',
  'not exported': () => 'it is not exported. Run partitions export first',
  'no manifest': () => 'its manifest is not in that directory',
  'other manifest': () => 'its manifest is not the last one written. Export it again',
  'no file': ({ name }: Named) => `${name} is missing. Export it again`,
  'file altered': ({ name }: Named) => `${name} is not the file that was written. Export it again`,
  'table altered': ({ name }: Named) => `${name} has other rows than the export. Export it again`,
}
export type Unproven = Worded<typeof unprovens>
export const unprovenText = wordsOf(unprovens)
