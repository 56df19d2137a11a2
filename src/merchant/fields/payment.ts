/** Which fields of a payment an endpoint may require, or do without. */
import { rebillRequest } from '../../spec/gateway/rebill.ts'
import { saleRequest } from '../../spec/gateway/sale.ts'
import { transferRequest, verificationRequest } from '../../spec/mobile/requests.ts'

type NeedTable = Readonly<Record<string, { need: unknown }>>

/** Every field that a payment may omit: by name for the gateway API, by path for the mobile API. */
export const choosableFields: ReadonlySet<string> = new Set(
  [saleRequest, rebillRequest, transferRequest, verificationRequest].flatMap((table: NeedTable) =>
    Object.entries(table).flatMap(([name, { need }]) => (need === 'optional' ? [name] : [])),
  ),
)

/** Whether an endpoint may require a field of this name. */
export const isPaymentField = (name: string): boolean => Object.hasOwn(saleRequest, name) || choosableFields.has(name)

/** Fields whose condition an endpoint may lift. 3-D Secure cannot do without the others. */
export const liftableFields = ['state']
