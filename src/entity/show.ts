/** Blocks for people, shown on a terminal or a page. */
import { agoText } from '../base/moments.ts'

/** A line about an entity; without a value it is not shown. A status may be coloured. */
export type Fact = readonly [name: string, value: string | undefined, is?: 'status']

export const onOff = (on: boolean): string => (on ? 'on' : 'off')

export interface Column<Row> {
  title: string
  of: (row: Row) => string
  /** It shows how long ago this was: a file has the time itself. */
  at?: (row: Row) => number | undefined
  /** Numbers to the right, amounts aligned on their decimal point. */
  align?: 'right' | 'point'
  /** A state, which may be coloured. */
  is?: 'status'
  /** How it went, which may be coloured as well. */
  went?: (row: Row) => 'well' | 'badly' | undefined
  /** The command that shows what it names: a page links to it. */
  leads?: (row: Row) => string
}

export type Health = 'ok' | 'warning' | 'problem'

/** A finding of an examination. */
export interface Finding {
  is: Health
  /** The subject, in a word or two. */
  what: string
  /** It may have text of strangers. */
  says: string
  /** Advice, with commands in braces: `see {order show 5}`. */
  advice?: string
}

/** Who takes part in a payment, in the order of a picture. */
export type Party = 'shopper' | 'merchant' | 'gateway' | 'directory' | 'issuer' | 'acquirer'

/** A message of a payment, as a picture draws it. */
export interface Passage {
  at: number
  from: Party
  to: Party
  /** The name of the message, such as `sale`. */
  name: string
  /** The point of it in a few words. */
  says: string
  went?: 'well' | 'badly' | undefined
  isReply?: boolean
  fields: readonly Fact[]
}

/** A paragraph, a finding, facts of one thing, a table of many, what to do next, lines to copy. */
export type Block =
  | string
  | Finding
  | { facts: readonly Fact[] }
  | { columns: readonly Column<unknown>[]; rows: readonly unknown[]; steps?: readonly Passage[] }
  | { text: string; command: string }
  /** A list goes on after this one. */
  | { after: string }
  | { code: string }

export const tableOf = <Row>(columns: readonly Column<Row>[], rows: readonly Row[], steps?: readonly Passage[]): Block => ({
  columns: columns as readonly Column<unknown>[],
  rows,
  ...(steps && { steps }),
})

/** The facts that differ between two versions of an entity. */
export function differences(before: readonly Fact[], after: readonly Fact[]): Fact[] {
  const was = new Map(before.map(([name, value]) => [name, value]))
  return after.flatMap(([name, value = 'none']): Fact[] => {
    const old = was.get(name) ?? 'none'
    return old === value ? [] : [[name, `${old} → ${value}`]]
  })
}

/** The effect of a change: the changed facts; `more` are changes of facts that are never shown. */
export function changed(called: string, before: readonly Fact[], after: readonly Fact[], more: readonly Fact[] = []): Block[] {
  const all = [...differences(before, after), ...more.filter(([, value]) => value !== undefined)]
  return all.length === 0 ? [`${called} already has this value.`] : [`${called} is changed.`, { facts: all }]
}

/** The number of what a row is about. */
export const numbered = <Row>(title: string, of: (row: Row) => bigint | number, leads?: (row: Row) => string): Column<Row> => ({
  title,
  of: (row) => String(of(row)),
  align: 'right',
  ...(leads && { leads }),
})

/** How long ago something was, or in what time it is due. */
export const dated = <Row>(title: string, now: number, at: (row: Row) => number | undefined): Column<Row> => ({
  title,
  of(row) {
    const time = at(row)
    return time === undefined ? '' : agoText(time, now)
  },
  at,
})

/** Whether it is switched on. */
export const stateColumn: Column<{ enabled: boolean }> = {
  title: 'STATE',
  of: ({ enabled }) => onOff(enabled),
  is: 'status',
}

/** `command` is the words of an action, which a terminal and a page say in their own way. */
export const hint = (text: string, command: string): Block => ({ text, command })

/** An advice as a text: the commands in it are in braces. */
export const withCommands = (advice: string): string => advice.replace(/\{([^{}]+)\}/g, 'npx tollgate $1')

/** How a state is coloured. */
export type Tone = 'good' | 'wait' | 'bad'

export const toneOf = (status: string): Tone | undefined => {
  if (/^(approved|delivered|ok|on|valid)$/.test(status)) return 'good'
  if (/^(declined|filtered|processing|due|warning)$/.test(status)) return 'wait'
  return /^(error|unknown|given-up|problem|off|expired|revoked)$|parked\)?$/.test(status) ? 'bad' : undefined
}

/**
 * Text from merchants and customers must not move the cursor or change the writing direction of
 * what shows it.
 */
export const printable = (text: string): string => text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\ufffd')
