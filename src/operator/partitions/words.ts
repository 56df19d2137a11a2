/** Why a partition is not detached, or not dropped. */
import { counted, timeText } from '../../base/moments.ts'

/** A partition of a cell. */
export interface CellPart {
  cellNo: number
  number: bigint
}

/** What the gateway still needs a partition for, with how many rows there are of it. */
export type PartitionNeed =
  /** Ids of new orders are in it. */
  | { is: 'current' }
  /** The process may still have ids of it, reserved before the later ones were used. */
  | { is: 'gateway'; instance: string; startedAt: number }
  | { is: 'default partition'; table: string }
  | { is: 'open' | 'young' | 'callbacks' | 'invoices' | 'idempotency keys'; count: bigint }

/** Why the export of a partition does not prove that its rows are kept. */
export type Unproven =
  | { is: 'not exported' | 'half detached' | 'no manifest' | 'other manifest' }
  | { is: 'no file' | 'file altered' | 'table altered'; name: string }

export const partText = ({ cellNo, number }: CellPart): string => (cellNo === 0 ? String(number) : `${number} of cell ${cellNo}`)

type Counted = Extract<PartitionNeed, { count: bigint }>

const verb = (count: bigint, one: string, several: string): string => (count === 1n ? one : several)

const needCounts: Readonly<Record<Counted['is'], (count: bigint) => string>> = {
  open: (count) => `${counted(count, 'transaction')} of it ${verb(count, 'has', 'have')} not ended`,
  young: (count) => `${counted(count, 'transaction')} of it ended after that time, so returns and disputes may follow`,
  callbacks: (count) => `${counted(count, 'callback')} of it ${verb(count, 'is', 'are')} still to be delivered`,
  invoices: (count) => `${counted(count, 'open transaction')} of the mobile API ${verb(count, 'leads', 'lead')} to it`,
  'idempotency keys': (count) => `${counted(count, 'Idempotency-Key')} of the last day ${verb(count, 'stands', 'stand')} for it`,
}

export function needText(need: PartitionNeed): string {
  if (need.is === 'current') return 'new orders get ids in it'
  if (need.is === 'default partition')
    return `${need.table} has a default partition, beside which nothing can be detached while payments go on: detach that by hand`
  if (need.is === 'gateway')
    return `gateway ${need.instance} began at ${timeText(need.startedAt)} UTC and may still have ids in it: restart it`
  return needCounts[need.is](need.count)
}

export const unprovenText = (unproven: Unproven): string =>
  'name' in unproven ? `${unproven.name} ${unprovenNames[unproven.is]}. Export it again` : unprovens[unproven.is]

const unprovenNames: Readonly<Record<Extract<Unproven, { name: string }>['is'], string>> = {
  'no file': 'is missing',
  'file altered': 'is not the file that was written',
  'table altered': 'has other rows than were exported',
}
const unprovens: Readonly<Record<Exclude<Unproven, { name: string }>['is'], string>> = {
  'half detached': 'it is not wholly detached. Give partitions detach again',
  'not exported': 'it is not exported. Give partitions export first',
  'no manifest': 'its manifest is not in that directory',
  'other manifest': 'its manifest is not the one that was written last. Export it again',
}
