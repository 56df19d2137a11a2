import type { Apps } from '../parties/apps.ts'
import type { Slot } from './asking.ts'
import type { Events } from './clock.ts'
import type { Movers } from './movers.ts'
import type { Shoppers } from '../parties/shoppers.ts'
import type { Installation } from './installation.ts'

/** The shortest and the longest time that a world runs on after the troubles. */
const calmMs = [180_000, 8_000_000] as const

/** The time after the troubles, until no work is left. */
export interface Calm {
  isOver(): boolean
  /** No work is left except waiting for cardholders, who may take an hour. */
  isAwaitingCardholders(): boolean
  /** When the last of their time limits ends. */
  morning(): number
}

export interface CalmParts {
  events: Events
  installation: Installation
  shoppers: Pick<Shoppers, 'waiting'>
  apps: Pick<Apps, 'waiting'>
  movers: Pick<Movers, 'waiting'> | undefined
  slots: readonly Slot[]
  /** When the troubles were over. */
  began: number
  isBroken: () => boolean
}

export function openCalm({ events, installation, shoppers, apps, movers, slots, began, isBroken }: CalmParts): Calm {
  const isDelivered = () => installation.deliveries.due().every((d) => d.dueAt! >= events.wall())
  const limits = () => installation.cells.flatMap((cell) => [cell.timeLimits(), cell.invoices.timeLimits()])
  const isWaitingOnly = () => limits().every((some) => some !== undefined)
  const untilLastLimit = () => Math.max(0, ...limits().flatMap((some) => some ?? [])) - events.wall()
  const isQuiet = () => shoppers.waiting() === 0 && apps.waiting() === 0 && (movers?.waiting() ?? 0) === 0
  const hadItsTime = () => events.now - began > calmMs[0]
  return {
    isOver: () =>
      isBroken() || events.now - began > calmMs[1] || (hadItsTime() && isQuiet() && !installation.hasWork() && isDelivered()),
    isAwaitingCardholders: () =>
      hadItsTime() &&
      isQuiet() &&
      isWaitingOnly() &&
      untilLastLimit() > 30_000 &&
      isDelivered() &&
      slots.every(({ gateway }) => gateway),
    morning: () => Math.min(events.now + untilLastLimit(), began + calmMs[1] - calmMs[0]),
  }
}
