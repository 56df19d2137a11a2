/** Commissions as an operator writes and reads them. */
import type { Commission, ShownCommission } from '../../merchant/merchant.ts'

const mostFixedMinor = 1_000_000_000
const mostBasisPoints = 10_000

/** `30+150`: minor units, and hundredths of a per cent. A text is the error message. */
export function readCommission(text: string): Commission | string {
  const [, fixed, points] = /^([0-9]{1,10})\+([0-9]{1,5})$/.exec(text) ?? []
  const read = { fixedMinor: Number(fixed), basisPoints: Number(points) }
  return read.fixedMinor <= mostFixedMinor && read.basisPoints <= mostBasisPoints
    ? read
    : 'Say minor units and hundredths of a per cent, such as 30+150: at most 1000000000 and 10000.'
}

/** The same; `gate` means what the gate says, and `none` (null) shows none. */
export const readShownCommission = (text: string): ShownCommission | null | string =>
  text === 'none' ? null : text === 'gate' ? { ofGate: true } : readCommission(text)

export const commissionText = (shown: ShownCommission): string =>
  'ofGate' in shown ? "the gate's" : `${shown.fixedMinor} minor units and ${shown.basisPoints / 100} %`

export const commissionJson = (shown: ShownCommission | undefined) =>
  shown === undefined ? null : 'ofGate' in shown ? 'gate' : { fixed_minor: shown.fixedMinor, basis_points: shown.basisPoints }
