/** Commissions as operators and machines write them. */
import { kind, Unreadable, type ValueKind } from '../../entity/kinds.ts'

/** Minor units of a payment's currency, and hundredths of a per cent of its amount. */
export interface Commission {
  fixedMinor: number
  basisPoints: number
}

/** The commission that an endpoint shows: its own, or that of the gate. */
export type ShownCommission = Commission | { ofGate: true }

const must = 'minor units and hundredths of a per cent, such as 30+150: at most 1000000000 and 10000'

function judged(fixedMinor: unknown, basisPoints: unknown): Commission | Unreadable {
  const fits = (value: unknown, most: number): value is number =>
    Number.isInteger(value) && Number(value) >= 0 && Number(value) <= most
  return fits(fixedMinor, 1_000_000_000) && fits(basisPoints, 10_000) ? { fixedMinor, basisPoints } : new Unreadable(must)
}

function read(text: string): Commission | Unreadable {
  const [, fixed, points] = /^([0-9]{1,10})\+([0-9]{1,5})$/.exec(text) ?? []
  return judged(Number(fixed), Number(points))
}

const shown = ({ fixedMinor, basisPoints }: Commission): string => `${fixedMinor} minor units and ${basisPoints / 100} %`
const written = ({ fixedMinor, basisPoints }: Commission): string => `${fixedMinor}+${basisPoints}`
const json = ({ fixedMinor, basisPoints }: Commission) => ({ fixed_minor: fixedMinor, basis_points: basisPoints })
const fromJson = (given: unknown): Commission | Unreadable => {
  const { fixed_minor: fixed, basis_points: points } = (given ?? {}) as Record<string, unknown>
  return judged(fixed, points)
}
const schema = {
  type: 'object',
  properties: { fixed_minor: { type: 'integer' }, basis_points: { type: 'integer' } },
  required: ['fixed_minor', 'basis_points'],
}

/** `30+150`. */
export const commission: ValueKind<Commission> = kind({ hint: 'commission', read, shown, written, json, fromJson, schema })

/** The same; `gate` means what the gate says. */
export const shownCommission: ValueKind<ShownCommission> = kind<ShownCommission>({
  hint: 'commission',
  read: (text) => (text === 'gate' ? { ofGate: true } : read(text)),
  shown: (value) => ('ofGate' in value ? "the gate's" : shown(value)),
  written: (value) => ('ofGate' in value ? 'gate' : written(value)),
  json: (value) => ('ofGate' in value ? 'gate' : json(value)),
  fromJson: (given) => (given === 'gate' ? { ofGate: true } : fromJson(given)),
  schema: { anyOf: [{ const: 'gate' }, schema] },
})
