/** The checks of the mobile API in the order of refusals, and what is done once they pass. */
import { marked, type After, type Check, type Marked, type PortsOf, type Row } from '../base/matrix.ts'
import { type Deed, type MobileRefusalName } from '../spec/mobile/operations.ts'
import * as check from './checks.ts'
import { completeTransfer } from './invoice/complete.ts'
import { performMobile } from './perform.ts'
import { answerTo, type MobileRefusal } from './refusal.ts'
import { answeredByService, type AppRequest } from './stages.ts'
import { statusOfMobile } from './status.ts'

/** The promise of a check, its refusal, and the operations that it applies to. */
interface CheckRow<C extends Check = Check, D extends Deed = Deed> extends Row<C, D> {
  refusal: MobileRefusalName
}

const columns = ['perform', 'status', 'complete'] as const satisfies readonly Deed[]

const row = <C extends Check, const Marks extends string>(
  promise: string,
  refusal: MobileRefusalName,
  holds: C,
  marks: Marks,
): CheckRow<C, Marked<Marks, typeof columns>> => ({ promise, refusal, holds, of: marked(promise, marks, columns) })

// oxfmt-ignore
const rows = [
  //                                           refusal                   check                       perform status complete
  row('the service is not overloaded',         'no room',                check.serviceHasRoom,       'x       x      x'),
  row('the endpoint serves the operation',     'endpoint not served',    check.endpointServes,       'x       .      .'),
  row('the endpoint is known',                 'unknown',                check.endpointIsKnown,      '.       x      x'),
  row('the invoiceId can be read',             'unfit',                  check.invoiceIdCanBeRead,   'x       .      .'),
  row('the body is a JSON object',             'unfit',                  check.bodyIsJson,           'x       x      x'),
  row('the fields can be read',                'unfit',                  check.requestCanBeRead,     'x       .      .'),
  row('the fields can be read',                'unfit',                  check.tokensCanBeRead,      '.       x      x'),
  row('the endpoint takes the currency',       'unfit',                  check.currencyIsTaken,      'x       .      .'),
  row('the currency has the amount',           'unfit',                  check.amountCanBeExpressed, 'x       .      .'),
  row('the signature holds',                   'signature does not hold', check.signatureHolds,      'x       .      .'),
  row('the merchant sends few enough requests', 'no room',                check.merchantKeepsRate,    'x       .      .'),
  row('no text has a card number',             'unfit',                  check.textsHaveNoCardNumber, 'x      .      .'),
  row('merchant and gate have few enough open payments', 'no room',                check.merchantHasRoom,      'x       .      .'),
  row("the invoice is this app's",             'unknown',                check.invoiceIsThisApps,    '.       x      x'),
] as const

export const mobileMatrix: readonly CheckRow[] = rows

type Ready = { [D in Deed]: After<typeof rows, D, AppRequest> }

export const performers = {
  perform: performMobile,
  status: statusOfMobile,
  complete: completeTransfer,
} as const satisfies {
  [D in Deed]: (request: Ready[D] & { assignedId: string }, ports: never) => Promise<object | MobileRefusal>
}

/** All ports of the checks and performers. */
export type MobileApiPorts = PortsOf<(typeof rows)[number]['holds'] | (typeof performers)[Deed]>

// A refusal without an answer is a defect; it shows at start-up.
for (const { operation, does } of answeredByService)
  for (const { of, refusal } of mobileMatrix) if (of.has(does)) answerTo(operation, refusal)

const checks = new Map(columns.map((deed) => [deed, mobileMatrix.filter(({ of }) => of.has(deed)).map(({ holds }) => holds)]))

/** The checks of a deed, in order. */
export const checksOf = (deed: Deed): readonly Check[] => checks.get(deed) ?? []
