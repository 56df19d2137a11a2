import type { MoveUnderWay, MoveTables } from '../../src/operator/cells/merchant-move.ts'
import { Refused } from '../../src/operator/refused.ts'
import type { Installation } from '../world/installation.ts'
import {
  keyedTables,
  leasesOf,
  orderIdsOf,
  readKeyed,
  readOrders,
  readWhole,
  removeMerchant,
  removeUnknown,
  writeKeyed,
  writeOrders,
  writeWhole,
} from './merchant-rows.ts'
import type { StoreCalls } from './store-calls.ts'
import type { Unit } from './store-locks.ts'
import type { StoreModel } from './store-model.ts'

/** A command that moves a merchant, with its lines to the cells. */
export interface Command {
  installation: Installation
  merchantId: bigint
  /** Its own name: another command that takes the move over has another one. */
  mover: string
  /** The line to a cell. The configuration is on that of cell 0. */
  line: (cellNo: number) => StoreCalls
}

/** Few, so that a copy has several pages. */
const ordersAtOnce = 8

const takenOver = () => new Refused({ what: 'move taken over' })

/** Begins a move, or takes one over. */
export async function beginMove(command: Command, to: number): Promise<MoveUnderWay | undefined> {
  const { installation, merchantId, mover, line } = command
  const { moves } = installation
  const was = await line(0).run(() => moves.get(merchantId))
  if (was && was.to !== to && was.state !== 'clearing')
    throw new Refused({ what: 'merchant moving', login: String(merchantId), to: was.to })
  const from = await line(0).run(() => installation.cellOf(merchantId))
  if (!was && from === to) return undefined
  return onConfiguration(command, () => {
    const now = moves.get(merchantId)
    if (now?.mover !== was?.mover || now?.state !== was?.state) throw takenOver()
    if (!now && installation.cellOf(merchantId) !== from) throw takenOver()
    const move = now ? { ...now, mover } : { from, to, state: 'copying' as const, mover }
    installation.setMove(merchantId, move)
    return { ...move, isIn: installation.cellOf(merchantId) }
  })
}

/** A statement that changes the configuration, and waits for whoever holds the row of the move. */
const onConfiguration = <T>({ installation, merchantId, line }: Command, change: () => T): Promise<T> =>
  line(0).alone(async (unit) => {
    await installation.cell(0).locks.take(unit, `move of ${merchantId}`)
    return change()
  })

/** A transaction that holds the row of the move; what it stages is committed at its end. */
const held = (command: Command, body: (unit: Unit, inside: StoreCalls['run']) => Promise<void>): Promise<void> => {
  const { installation, merchantId, line } = command
  return line(0).transaction(async (unit) => {
    const inside: StoreCalls['run'] = (read) => line(0).inside(unit, read)
    await inside(() => installation.cell(0).locks.take(unit, `move of ${merchantId}`))
    await inside(() => demandOurs(command))
    await body(unit, inside)
  })
}

function demandOurs({ installation, merchantId, mover }: Command): void {
  if (installation.moves.get(merchantId)?.mover !== mover) throw takenOver()
}

/** The lock on the mark in a cell, and whether it is this command's. */
async function holdMark({ installation, merchantId, mover }: Command, cellNo: number, unit: Unit): Promise<void> {
  const cell = installation.cell(cellNo)
  await cell.locks.take(unit, `mover of ${merchantId}`)
  if (!cell.movers.is(merchantId, mover)) throw takenOver()
}

/** A transaction that writes in a cell. */
const writingIn = (command: Command, cellNo: number) => (body: (cell: StoreModel) => void) =>
  command.line(cellNo).transaction(async (unit) => {
    await command.line(cellNo).inside(unit, () => holdMark(command, cellNo, unit))
    unit.staged.push(() => body(command.installation.cell(cellNo)))
  })

/** A change of the fence in a cell. */
const fencing = <T>(command: Command, cellNo: number, change: (cell: StoreModel) => T | Promise<T>): Promise<T> =>
  command.line(cellNo).alone(async (unit) => {
    await holdMark(command, cellNo, unit)
    return change(command.installation.cell(cellNo))
  })

/** A move between two cells of the model: the meaning of the SQL of src/operator/. */
export function tablesBetween(command: Command, { from, to }: MoveUnderWay): MoveTables {
  const { installation, merchantId, mover, line } = command
  const [old, fresh] = [installation.cell(from), installation.cell(to)]
  const lift = (cellNo: number) => fencing(command, cellNo, ({ fence }) => void fence.away.delete(merchantId))
  const enter = (state: MoveUnderWay['state']) =>
    onConfiguration(command, () => {
      demandOurs(command)
      installation.setMove(merchantId, { from, to, state, mover })
    })
  return {
    copy: copyBetween(command, from, to),
    mark: () =>
      held(command, async () => {
        for (const cellNo of [from, to])
          await line(cellNo).alone(async (unit) => {
            const { locks, movers } = installation.cell(cellNo)
            await locks.take(unit, `mover of ${merchantId}`)
            movers.set(merchantId, mover)
          })
      }),
    fenceNew: async () => void (await fencing(command, to, () => fresh.fence.close(merchantId))),
    close: () => enter('closed'),
    fenceOld: () => fencing(command, from, () => old.fence.close(merchantId, () => leasesOf(old, merchantId))),
    reopen: (state) =>
      held(command, async (unit, inside) => {
        const isIn = await inside(() => installation.cellOf(merchantId))
        if (isIn === to) throw new Refused({ what: 'move too far', login: String(merchantId), to })
        await lift(from)
        unit.staged.push(() => installation.setMove(merchantId, { from, to, state, mover }))
      }),
    nameNew: () =>
      onConfiguration(command, () => {
        demandOurs(command)
        installation.place(merchantId, to)
      }),
    async openNew() {
      await lift(to)
      await enter('clearing')
    },
    async removeRows() {
      const isIn = await line(0).run(() => installation.cellOf(merchantId))
      await writingIn(command, isIn === to ? from : to)((cell) => removeMerchant(cell, merchantId))
      return 0
    },
    async end() {
      await held(command, () => Promise.resolve())
      for (const cellNo of [from, to])
        await line(cellNo).alone(async (unit) => {
          const { locks, movers } = installation.cell(cellNo)
          await locks.take(unit, `mover of ${merchantId}`)
          if (movers.get(merchantId) === mover) movers.delete(merchantId)
        })
      await onConfiguration(command, () => {
        demandOurs(command)
        installation.setMove(merchantId, undefined)
      })
    },
  }
}

/** Each page is copied, whether it differs or not. */
function copyBetween(command: Command, from: number, to: number): MoveTables['copy'] {
  const { installation, merchantId, line } = command
  const old = installation.cell(from)
  const write = writingIn(command, to)
  const read: StoreCalls['run'] = (body) => line(from).run(body)
  return async (looked) => {
    const known = await read(() => ({ ...readKeyed(old, merchantId), orderIds: orderIdsOf(old, merchantId) }))
    await write((cell) => removeUnknown(cell, merchantId, known))
    for (const table of keyedTables) {
      const rows = await read(() => readKeyed(old, merchantId)[table])
      await write((cell) => writeKeyed(cell, { [table]: rows }))
    }
    const orderIds = await read(() => orderIdsOf(old, merchantId))
    for (let at = 0; at < orderIds.length; at += ordersAtOnce) {
      const rows = await read(() => readOrders(old, merchantId, orderIds.slice(at, at + ordersAtOnce)))
      await write((cell) => writeOrders(cell, rows))
      await looked(Math.min(orderIds.length, at + ordersAtOnce))
    }
    const whole = await read(() => readWhole(old, merchantId))
    await write((cell) => writeWhole(cell, merchantId, whole))
    return true
  }
}
