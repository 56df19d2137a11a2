/** The settings of an endpoint. Their types, and everything shown of them, follow. */
import { fields, type Settings } from '../../entity/fields.ts'
import { choice, kind, listOrNone, onOff, span, text, Unreadable, type ValueKind } from '../../entity/kinds.ts'
import { isOperation, operationNames, switchedAs, type Operation } from '../../spec/gateway/operations.ts'
import type { ChallengeIndicator } from '../../spec/three-d-secure/kinds.ts'
import { authenticationPolicy, safePolicy } from './authentication-policy.ts'
import { shownCommission } from './commission.ts'
import { choosableFields, isPaymentField, liftableFields } from './payment.ts'

export type EndpointSettings = Settings<typeof endpointFields.table>

/** Where calls may go is judged at each call, and when it is set. */
const url = text('url', /^\S{1,1024}$/u, 'a URL of at most 1024 characters')

// oxfmt-ignore
const indicators: Readonly<Record<ChallengeIndicator, string>> = {
  '01': 'no preference',
  '02': 'no challenge wanted',
  '03': 'a challenge wanted',
  '04': 'a challenge mandated',
  '05': 'no challenge: the risk was analysed',
  '06': 'no challenge: data is shared only',
  '07': 'no challenge: strong authentication was done before',
  '08': 'no challenge: the cardholder trusts the merchant',
  '09': 'a challenge wanted, with an offer to trust the merchant',
}

/** A code of `threeDSRequestorChallengeInd`. */
const indicator: ValueKind<ChallengeIndicator> = {
  ...choice(Object.keys(indicators) as ChallengeIndicator[], 'code'),
  shown: (code) => `${code} (${indicators[code]})`,
}

/** One line per code, for the help. */
export const indicatorList = (): string =>
  Object.entries(indicators)
    .map(([code, means]) => `  ${code}  ${means}`)
    .join('\n')

const mandatory = kind<string>({
  hint: 'field',
  read: (name) =>
    isPaymentField(name)
      ? name
      : new Unreadable(
          `fields that an endpoint can demand, which ${JSON.stringify(name)} is not: ${[...choosableFields].join(', ')}`,
        ),
})

const lifted = kind<string>({
  hint: 'field',
  read: (name) =>
    liftableFields.includes(name)
      ? name
      : new Unreadable(`fields that can be made optional: ${liftableFields.join(', ')}, not ${JSON.stringify(name)}`),
})

/** The operations that are off, changed by `sale=off,void=on`. */
const operations = kind<Operation[], ReadonlyMap<Operation, boolean>>({
  hint: 'changes',
  read(written) {
    const changes = new Map<Operation, boolean>()
    for (const part of written.split(',')) {
      const [name = '', ...state] = part.trim().split('=')
      if (!isOperation(name))
        return new Unreadable(`operations with on or off. ${JSON.stringify(name)} is none of ${operationNames.join(', ')}`)
      const on = onOff.read(state.join('='))
      if (on instanceof Unreadable) return new Unreadable(`${name}=on or ${name}=off`)
      if (changes.has(switchedAs(name))) return new Unreadable(`unambiguous: ${name} appears twice`)
      changes.set(switchedAs(name), on)
    }
    return changes
  },
  shown: (off) => off.join(', ') || 'none',
  written: (off) => off.map((name) => `${name}=off`).join(',') || 'sale=on',
  fromJson: (json) => {
    const off: readonly unknown[] = Array.isArray(json) ? json : ['']
    if (!off.every((name) => typeof name === 'string' && isOperation(name))) return new Unreadable('a list of operations')
    const switched = new Set(off.map(switchedAs))
    return new Map(operationNames.map((name) => [switchedAs(name), !switched.has(switchedAs(name))]))
  },
  isList: true,
  schema: { type: 'array', items: { enum: operationNames } },
  merge(before = [], changes) {
    const off = new Set(before.map(switchedAs))
    for (const [operation, on] of changes) {
      if (on) off.delete(operation)
      else off.add(operation)
    }
    return [...off].sort()
  },
})

const units: ValueKind<'iso4217' | 'hundredths'> = {
  ...choice(['iso4217', 'hundredths']),
  written: (how) => how,
  shown: (how) => (how === 'iso4217' ? "by the currency's decimals (iso4217)" : 'times a hundred (hundredths)'),
}

// oxfmt-ignore
export const endpointFields = fields({
  threeDSecure:             { is: onOff,                usual: false,      label: '3-D Secure',              means: 'whether cardholders are authenticated' },
  challengeIndicator:       { is: indicator,            none: 'none (no preference)', label: 'Challenge indicator', means: 'whether the gateway asks the issuer for a 3-D Secure challenge, 01 to 09' },
  authenticationPolicy:     { is: authenticationPolicy, usual: safePolicy, label: 'Authentication',          means: 'what to do when 3-D Secure does not shift the risk to the issuer, such as unavailable=authorise; or safe' },
  callbackUrl:              { is: url,                  none: 'none; each request may name its own', label: 'Callback URL', means: 'URL that receives every outcome, in addition to the URLs of each request' },
  merchantServerUrl:        { is: url,                  none: 'none (mobile API)', label: 'Merchant server', means: "URL of the merchant's server, which the mobile API calls" },
  sellerCommission:         { is: shownCommission,                         label: "Seller's commission",     means: 'shown in status and callback: minor units + hundredths of a per cent, such as 30+150; or gate, to show that of the gate' },
  acquirerCommission:       { is: shownCommission,                         label: "Acquirer's commission",   means: "the acquirer's commission, in the same form" },
  authenticationInCallback: { is: onOff,                usual: false,      label: '3-D Secure in callbacks', means: 'whether callbacks have eci and verified-3d-status' },
  withoutMethod:            { is: onOff,                usual: false,      label: 'Without the method',      means: "whether to skip the issuer's method when the sale has the browser's data" },
  consumerDefinedRate:      { is: onOff,                usual: false,      label: 'Consumer-defined rate',   means: 'whether the consumer of a transfer chooses a gate by its commission' },
  randomSum:                { is: onOff,                usual: false,      label: 'Random sum',              means: 'whether a cardholder who had no 3-D Secure challenge must enter a small random sum that was held on the card' },
  plainHttpCallbacks:       { is: onOff,                usual: false,      label: 'Plain http callbacks',    means: 'whether callback URLs may be http, not only https' },
  amountsAboveSigned:       { is: onOff,                usual: false,      label: 'Amounts above signed',    means: 'whether enumerate_amounts may exceed the amount, although only the amount is signed' },
  parameterSignatures:      { is: onOff,                usual: true,       label: 'Parameter signatures',    means: 'whether signatures of v4 may cover the parameters alone, without the address' },
  cardNumbersInText:        { is: onOff,                usual: false,      label: 'Card numbers in text',    means: 'whether descriptions, comments and merchant_data may contain card numbers; never the number of the payment itself' },
  repeatWindowMs:           { is: span('0', '24h'),     usual: 600_000,    label: 'Repeat window',           means: 'how long after its approval an equal capture, return or void counts as a repeat; 0 for never' },
  mandatoryFields:          { is: listOrNone(mandatory), usual: [],         label: 'Mandatory fields',        means: 'additional mandatory fields, separated by commas, such as phone,order.description; or none', option: 'mandatory' },
  optionalFields:           { is: listOrNone(lifted), usual: [],         label: 'Optional fields',         means: 'state, to make it optional in addresses in US, CA and AU; or none', option: 'optional' },
  descriptor:               { is: text('text', /^[^\p{Cc}]{1,64}$/u, 'one to 64 characters on one line'), none: "the gate's", label: 'Descriptor', means: "the text on the cardholder's statement, instead of the gate's" },
  disabledOperations:       { is: operations,           usual: ['capture', 'return', 'void'], label: 'Operations off', means: 'operations to switch on or off, such as sale=off', option: 'operations' },
  controlMinorUnits:        { is: units,                usual: 'iso4217',  label: 'Amounts in checksums',    means: "how amounts are written in checksums: in the currency's minor units, or always in hundredths" },
})
