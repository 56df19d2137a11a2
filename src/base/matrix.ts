/**
 * A matrix of checks: one row per check, one column per operation, in the order of refusals. The
 * compiler proves that a row comes after those that find what it needs.
 */

/** The result of a check: a refusal, its findings, or nothing. */
type Checked = { refused: string } | object | undefined
export type Check = (request: never, ports: never) => Checked | Promise<Checked>

/** A row: the promise of a check, and the operations that it applies to. */
export interface Row<C extends Check = Check, Column extends string = string> {
  promise: string
  holds: C
  of: ReadonlySet<Column>
}

/** The columns that are marked with x. */
export type Marked<Marks extends string, Columns extends readonly string[]> = Marks extends ` ${infer Rest}`
  ? Marked<Rest, Columns>
  : Columns extends readonly [infer First extends string, ...infer Others extends string[]]
    ? Marks extends `x${infer Rest}`
      ? First | Marked<Rest, Others>
      : Marks extends `.${infer Rest}`
        ? Marked<Rest, Others>
        : never
    : never

/**
 * The same at run time. Throws on a row that does not fit, whose check would otherwise never run.
 */
export function marked<const Marks extends string, const Columns extends readonly string[]>(
  promise: string,
  marks: Marks,
  columns: Columns,
): ReadonlySet<Marked<Marks, Columns>> {
  const each = marks.trim().split(/\s+/)
  if (each.length !== columns.length) throw new Error(`"${promise}" has ${each.length} marks for ${columns.length} operations`)
  const strange = each.find((mark) => mark !== 'x' && mark !== '.')
  if (strange !== undefined) throw new Error(`"${promise}" has the mark "${strange}", which is neither x nor .`)
  // The type reads the same marks.
  return new Set(columns.filter((_, i) => each[i] === 'x')) as ReadonlySet<string> as ReadonlySet<Marked<Marks, Columns>>
}

type Found<C extends Check> = Extract<Exclude<Awaited<ReturnType<C>>, { refused: string }>, object>

/** The facts of a request of one column once its rows have passed. */
export type After<Rows extends readonly Row[], Column extends string, Known> = Rows extends readonly [
  Row<infer C, infer Of>,
  ...infer Rest extends readonly Row[],
]
  ? [Column] extends [Of]
    ? Known extends Parameters<C>[0]
      ? After<Rest, Column, [Found<C>] extends [never] ? Known : Known & Found<C>>
      : { 'a check stands before the one that finds what it needs': Parameters<C>[0]; of: Column }
    : After<Rest, Column, Known>
  : Known

type AllOf<Union> = (Union extends unknown ? (each: Union) => void : never) extends (all: infer All) => void ? All : never

/** The ports of all these functions together: each declares its own. */
export type PortsOf<Each extends Check> = AllOf<
  Each extends (request: never, ports: infer Ports) => unknown ? (unknown extends Ports ? never : Ports) : never
>

/** The first refusal, or the request with all findings. */
export type Passed<Refused extends { refused: string }> = Refused | { passed: object }

/**
 * Runs the checks one after the other. The result is a promise only if a check is asynchronous: a
 * promise for each check would cost more than most checks.
 */
export const passChecks = <Refused extends { refused: string }>(
  checks: readonly Check[],
  received: object,
  ports: object,
): Passed<Refused> | Promise<Passed<Refused>> => passFrom(0, checks, received, ports)

function passFrom<Refused extends { refused: string }>(
  first: number,
  checks: readonly Check[],
  passed: object,
  ports: object,
): Passed<Refused> | Promise<Passed<Refused>> {
  for (let i = first; i < checks.length; i++) {
    // `After` has proved that the request and the ports are what this check needs.
    const found = (checks[i] as (request: object, ports: object) => ReturnType<Check>)(passed, ports)
    if (found === undefined) continue
    if (found instanceof Promise)
      return found.then((late) => {
        if (late && 'refused' in late) return late as Refused
        return passFrom<Refused>(i + 1, checks, Object.assign(passed, late), ports)
      })
    if ('refused' in found) return found as Refused
    Object.assign(passed, found)
  }
  return { passed }
}
