import { barrierMs, type CellBehind, type FenceOfCell, type MoveTables } from '../../src/operator/cells/merchant-move.ts'
import { Refused } from '../../src/operator/refused.ts'
import { deadAfterMs } from '../../src/leases/heartbeat.ts'
import type { Events } from '../world/clock.ts'
import type { Installation } from '../world/installation.ts'
import {
  changeLeases,
  endLeases,
  keyedOf,
  keyedTables,
  orderIdsOf,
  readKeyed,
  readOrders,
  readWhole,
  removeMerchant,
  writeKeyed,
  writeOrders,
  writeWhole,
} from './merchant-rows.ts'
import type { StoreCalls } from './store-calls.ts'
import type { Unit } from './store-locks.ts'
import type { StoreModel } from './store-model.ts'

/** A command that moves a merchant, with its lines to the cells. */
export interface Command {
  events: Events
  installation: Installation
  merchantId: bigint
  /** Its own name: another command that takes the move over has another one. */
  mover: string
  /** The line to a cell. */
  line: (cellNo: number) => StoreCalls
}

/** Few, so that a copy has several pages. */
const ordersAtOnce = 8

/** The lock on the row of the fence. */
const fenceRow = (merchantId: bigint) => `move of ${merchantId}`

/** A statement that changes the row of the fence, and waits for whoever holds it. */
const onRow = <T>({ installation, merchantId, line }: Command, cellNo: number, change: () => T): Promise<T> =>
  line(cellNo).alone(async (unit) => {
    await installation.cell(cellNo).locks.take(unit, fenceRow(merchantId))
    return change()
  })

const takenOver = () => new Refused({ what: 'move taken over' })

/** A move between two cells of the model: the meaning of the SQL of src/operator/. */
export function tablesBetween(command: Command, from: number, to: number): MoveTables {
  const { installation, merchantId, mover, line, events } = command
  const [old, fresh] = [installation.cell(from), installation.cell(to)]
  const owners = () => ownersOf(line(from), line(to), old, fresh, command)
  const write = writingIn(command, to)
  return {
    ...copiesBetween(command, from, to),
    from: fenceOf(command, from),
    to: fenceOf(command, to),
    ownersWithoutNew: async () =>
      (await owners()).flatMap(({ instance, isAlive, there }) => (isAlive && there === undefined ? [instance!] : [])),
    begin: () => line(0).alone(() => {}),
    leaveOld: () =>
      onRow(command, from, () => {
        const row = old.fence.rows.get(merchantId)
        if (row && row.state !== 'leaving') return false
        old.fence.rows.set(merchantId, { state: 'leaving', otherCell: to, mover })
        return true
      }),
    arriveInNew: () =>
      heldIn(command, from, () =>
        onRow(command, to, () => void fresh.fence.rows.set(merchantId, { state: 'arriving', otherCell: from, mover })),
      ),
    async giveLeasesOn() {
      const found = await owners()
      await write((cell) => {
        changeLeases(cell, merchantId, (lease) => found.find((one) => one.lease === lease)?.there ?? lease)
        for (const { lease, instance, ageMs, there } of found)
          if (there === undefined && instance !== undefined && !cell.heartbeats.has(lease))
            cell.heartbeats.set(lease, { instance, beatAt: events.wall() - ageMs })
      })
    },
    endLeases: () => heldIn(command, from, async (unit) => void unit.staged.push(() => endLeases(old, merchantId))),
    openNew: () =>
      write(() => {
        fresh.fence.rows.delete(merchantId)
        installation.opened(merchantId, to)
      }),
    nameNew: () =>
      line(0).alone(() => {
        if (!installation.place(merchantId, to, from)) throw takenOver()
      }),
  }
}

/** A transaction that writes in a cell. */
const writingIn = (command: Command, cellNo: number) => (body: (cell: StoreModel) => void) =>
  heldIn(command, cellNo, async (unit) => void unit.staged.push(() => body(command.installation.cell(cellNo))))

function copiesBetween(
  command: Command,
  from: number,
  to: number,
): Pick<MoveTables, 'clearNew' | 'copyAll' | 'copyNotes' | 'copyWhole'> {
  const { installation, merchantId, line } = command
  const old = installation.cell(from)
  const write = writingIn(command, to)
  const readOld: StoreCalls['run'] = (body) => line(from).run(body)

  async function copyOrders(read: StoreCalls['run'], orderIds: readonly bigint[], isAgain: boolean): Promise<void> {
    for (let at = 0; at < orderIds.length; at += ordersAtOnce) {
      const rows = await read(() => readOrders(old, merchantId, orderIds.slice(at, at + ordersAtOnce)))
      const { names, keys, ...references } = await read(() => keyedOf(old, merchantId, rows))
      await write((cell) => {
        writeKeyed(cell, references)
        writeOrders(cell, rows)
      })
      if (isAgain) await write((cell) => writeKeyed(cell, { names: names ?? [], keys: keys ?? [] }))
    }
  }

  return {
    clearNew: () => write((cell) => removeMerchant(cell, merchantId)),
    async copyAll(copied) {
      for (const table of keyedTables) {
        const rows = await readOld(() => readKeyed(old, merchantId)[table])
        await write((cell) => writeKeyed(cell, { [table]: rows }))
      }
      const orderIds = await readOld(() => orderIdsOf(old, merchantId))
      await copyOrders(readOld, orderIds, false)
      await copied(orderIds.length)
    },
    copyNotes: () =>
      heldIn(command, from, async (unit, inside) => {
        const notes = [...old.fence.notes].filter((note) => note.merchantId === merchantId)
        unit.staged.push(() => notes.forEach((note) => old.fence.notes.delete(note)))
        const orderIds = [...new Set(notes.flatMap(({ orderId }) => orderId ?? []))]
        const invoiceIds = new Set(notes.flatMap(({ invoiceId }) => invoiceId ?? []))
        await copyOrders(inside, orderIds, true)
        const invoices = await inside(() => old.invoices.ofMerchant(merchantId))
        const noted = invoices.filter(({ invoice }) => invoiceIds.has(invoice.invoiceId))
        if (noted.length > 0) await write((cell) => writeKeyed(cell, { invoices: noted }))
        return orderIds.length + invoiceIds.size
      }),
    async copyWhole() {
      const rows = await readOld(() => readWhole(old, merchantId))
      await write((cell) => writeWhole(cell, merchantId, rows))
    },
  }
}

interface Owner {
  lease: bigint
  /** Absent if the old cell does not know the process any more. */
  instance: string | undefined
  ageMs: number
  isAlive: boolean
  /** The number of the same process in the new cell, if it is alive there. */
  there: bigint | undefined
}

async function ownersOf(
  oldLine: StoreCalls,
  freshLine: StoreCalls,
  old: StoreModel,
  fresh: StoreModel,
  { events, merchantId }: Command,
): Promise<Owner[]> {
  const [leases, beats, others] = await Promise.all([
    oldLine.run(() => [...changeLeases(old, merchantId, (lease) => lease)]),
    oldLine.run(() => beatsOf(old, events)),
    freshLine.run(() => beatsOf(fresh, events)),
  ])
  return leases.map((lease) => {
    const owner = beats.find(({ processId }) => processId === lease)
    const isAlive = owner !== undefined && owner.ageMs < deadAfterMs
    const there = isAlive ? others.find((one) => one.ageMs < deadAfterMs && one.instance === owner.instance) : undefined
    return { lease, instance: owner?.instance, ageMs: owner?.ageMs ?? Infinity, isAlive, there: there?.processId }
  })
}

const beatsOf = ({ heartbeats }: StoreModel, events: Events) =>
  [...heartbeats].map(([processId, { instance, beatAt }]) => ({ processId, instance, ageMs: events.wall() - beatAt })).reverse()

function fenceOf(command: Command, cellNo: number): FenceOfCell {
  const { installation, merchantId, mover, line, events } = command
  const { fence } = installation.cell(cellNo)
  const calls = line(cellNo)
  const isOurs = () => fence.rows.get(merchantId)?.mover === mover
  const late = () => new Promise<never>((_, reject) => events.after(barrierMs, undefined, () => reject(tooSlow())))
  return {
    cellNo,
    read: () => calls.run(() => fence.rows.get(merchantId)),
    takeOver: (state) =>
      onRow(command, cellNo, () => {
        const row = fence.rows.get(merchantId)
        if (row?.state === state) fence.rows.set(merchantId, { ...row, mover })
      }),
    turn: (state) =>
      onRow(command, cellNo, () => {
        if (isOurs()) fence.rows.set(merchantId, { ...fence.rows.get(merchantId)!, state })
        return isOurs()
      }),
    passBarrier: () => calls.alone(() => Promise.race([fence.passed(), late()])),
    isResealing: () => Promise.resolve(false),
  }
}

const tooSlow = () => new Refused({ what: 'writers slow', forMs: barrierMs })

export const behindOf = ({ installation, merchantId, line }: Command, isIn: number): CellBehind[] =>
  installation.cells.flatMap((cell, cellNo) =>
    cellNo === isIn || !cell.fence.rows.has(merchantId)
      ? []
      : [
          {
            hasLeft: () => line(cellNo).run(() => cell.fence.rows.get(merchantId)?.state === 'left'),
            removeRows: () =>
              line(cellNo).transaction(async (unit) => {
                await line(cellNo).inside(unit, async () => {
                  await cell.locks.take(unit, fenceRow(merchantId))
                  if (cell.fence.rows.get(merchantId)?.state !== 'left') return
                  unit.staged.push(() => removeMerchant(cell, merchantId))
                })
                return 0
              }),
          },
        ],
  )

/** A transaction in one of the cells, if no other command has taken the move over. */
const heldIn = <T>(
  { installation, merchantId, mover, line }: Command,
  cellNo: number,
  body: (unit: Unit, inside: <R>(read: () => R | Promise<R>) => Promise<R>) => Promise<T>,
): Promise<T> =>
  line(cellNo).transaction(async (unit) => {
    const { fence, locks } = installation.cell(cellNo)
    const inside = <R>(read: () => R | Promise<R>) => line(cellNo).inside(unit, read)
    await inside(async () => {
      await locks.take(unit, fenceRow(merchantId))
      if (fence.rows.get(merchantId)?.mover !== mover) throw takenOver()
    })
    return body(unit, inside)
  })
