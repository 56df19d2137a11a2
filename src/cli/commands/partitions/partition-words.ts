/** Why a partition is not detached, or not dropped. */
import { counted, timeText } from '../../../base/moments.ts'
import type { CellPart, PartitionNeed, Unproven } from '../../../operator/refused.ts'

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
  'half detached': 'it is not wholly detached. Run: npx tollgate partitions detach --help',
  'not exported': 'it is not exported. Run: npx tollgate partitions export --help',
  'no manifest': 'its manifest is not in that directory',
  'other manifest': 'its manifest is not the one that was written last. Export it again',
}
