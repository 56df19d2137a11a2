/** The signature doctor: why the control of a pasted request is refused. */
import { maskCardNumbers } from '../../base/log.ts'
import { secret } from '../../base/secret.ts'
import { schema } from '../../entity/json.ts'
import { anyText, secretFile } from '../../entity/kinds.ts'
import type { Finding } from '../../entity/show.ts'
import { endpointExists, fieldsCanBeRead } from '../../gateway-api/checks.ts'
import { coveredBy, type SignedFields } from '../../gateway-api/checksum.ts'
import type { Filled, Received } from '../../gateway-api/stages.ts'
import { controlHolds, controlOf } from '../../merchant/control.ts'
import { loadRegistry } from '../../merchant/rows.ts'
import { signingSecretText } from '../../merchant/signing-secret-rows.ts'
import { openOrderStore } from '../../order/store/store.ts'
import { hiddenKey } from '../../reference/signing.ts'
import { readFields, type Pairs } from '../../spec/field.ts'
import { amountInMinorUnits, controlKey, pathId, type Formula } from '../../spec/gateway/control.ts'
import { operationRow, type Operation } from '../../spec/gateway/operations.ts'
import { refusals, refuse } from '../../spec/refusals.ts'
import { action, type Actions } from '../action.ts'
import { ofOneMerchant } from '../inputs.ts'
import { listEndpoints, listGroups, merchantNamed, ofMerchant } from '../known.ts'
import type { Office } from '../office.ts'
import { orUnknown, Refused, unfit } from '../refused.ts'
import { cellsFor, loginsIn } from '../where.ts'
import { operationsWithControl } from './guide-actions.ts'
import { mistakesIn, type Mistaken, type SignedPart } from './mistakes.ts'
import { readPasted } from './pasted.ts'

/** The signed parts and the control, so that a request is explained without its card. */
function signedTable(operation: Operation) {
  const { request, signed } = operationRow(operation)
  const names = new Set(['control', 'amount', 'currency', ...(signed as Formula).flatMap(({ parts }) => parts)])
  const rows = Object.entries(request).filter(([name]) => names.has(name))
  return Object.fromEntries(rows.map(([name, field]) => [name, { ...field, need: 'optional' as const }]))
}

/** Only the first digits of controls are shown: a whole one would let others send the request. */
async function judge({ pool, cells, clock }: Office, signed: SignedFields, pairs: Pairs) {
  const { values, entry } = signed
  const { login, merchantId, controlKeys, signingSecret } = entry.merchant
  const { previousKeyUntil = 0 } = await merchantNamed(pool, login)
  const accepted = controlKeys.slice(0, previousKeyUntil > clock.now() ? 2 : 1)
  const [cell] = await cellsFor({ pool, cells }, await loginsIn(pool), merchantId)
  const amountsOf = (orderId: bigint) => openOrderStore(cell!.pool).signedAmounts({ merchantId, orderId })
  const stored = ('orderid' in values && values.orderid && (await amountsOf(values.orderid))) || []
  const covered = coveredBy(signed, stored)
  const right = covered.find((one) => controlHolds(values.control, [one.values], accepted, secret('')))
  const shown = right ?? covered[0]!
  const said = (verdict: 'right' | 'mistaken' | 'unexplained', mistakes: readonly Mistaken[] = []) => ({
    verdict,
    parts: shown.names.map((name, i) => ({ name, value: maskCardNumbers(shown.values[i]!) })),
    expected: begin(right ? values.control.toLowerCase() : controlOf(shown.values, accepted[0]!)),
    sent: begin(values.control),
    mistakes,
  })
  if ('login' in values && values.login !== login)
    return said('mistaken', [{ name: 'another login', says: 'The endpoint is of a merchant with another login.' }])
  if (right) return said('right')
  const isHex = /^[0-9a-f]+$/i.test(values.control)
  const bytes = Buffer.from(values.control, isHex ? 'hex' : 'base64')
  if (![16, 20, 28, 32, 48, 64].includes(bytes.length))
    return said('mistaken', [{ name: 'no checksum', says: 'control has the 40 hexadecimal digits of SHA-1.' }])
  const partsOf = ({ names, values: all }: (typeof covered)[number]) => names.map((name, i): SignedPart => [name, all[i]!])
  const ways = accepted.flatMap((key) => covered.map((one) => [...partsOf(one), [controlKey, key.reveal()] as const]))
  const plain = (name: string) => name.replace(/[-_]/g, '')
  const sent = new Map(pairs.map(([name, value]) => [plain(name), value.trim()]))
  const amount = 'amount' in values && values.amount && values.currency && { ...values.amount, currency: values.currency }
  const own: Record<string, string> = { login, [pathId]: signed.path.id, [amountInMinorUnits]: amount ? `${amount.minor}` : '' }
  const endpoints = (await ofMerchant(pool, login, listEndpoints)).map((one) => one.endpointId)
  const groups = (await ofMerchant(pool, login, listGroups)).map((one) => one.groupId)
  const mistakes = mistakesIn(bytes, ways, {
    amount: amount || undefined,
    orderAmounts: stored.map(({ amountMinor }) => String(amountMinor)),
    ids: [...endpoints, ...groups].flatMap((one) => [`${one}`, `group/${one}`]),
    replacedKeys: controlKeys.slice(accepted.length).map((key) => key.reveal()),
    signingSecrets: signingSecret ? [signingSecretText(signingSecret)] : [],
    take: (name) => own[name] ?? sent.get(plain(name)) ?? '',
  })
  if (!mistakes) return said('unexplained')
  return said('mistaken', isHex ? mistakes : [{ name: 'base64', says: 'control is written in hexadecimal.' }, ...mistakes])
}

const begin = (control: string) => `${control.slice(0, 8)}…`
const unread = { verdict: 'unread' as const, parts: [], mistakes: [], expected: null, sent: null }

// oxfmt-ignore
const verdicts: Readonly<Record<string, Omit<Finding, 'what'>>> = {
  right:       { is: 'ok',      says: 'is right' },
  mistaken:    { is: 'problem', says: 'is not right, and this is why' },
  unexplained: { is: 'problem', says: 'is not right, and no mistake that is known here leads to it', advice: 'Compare the parts with what your program signs, letter by letter. A value may have been changed after it was signed, or the key may be of another merchant, which is never tried.' },
  unread:      { is: 'warning', says: 'is not looked at' },
}

export const signatureActions: Actions = {
  'signature explain': action({
    does: 'shows what the control of a request covers, and which known mistake made it wrong',
    needs: 'cards',
    forMerchants: true,
    takes: {
      request: {
        is: secretFile(65_536),
        piped: true,
        means: 'the whole form, or a curl command; standard input if left out',
      },
      path: { is: anyText('path'), means: 'such as /api/v2/sale/101, if the request does not contain it' },
      merchant: { ...ofOneMerchant, means: "the merchant of the request; by default the endpoint's" },
    },
    async perform(office, { merchant: login, request, path: named }) {
      const { address = '', pairs } = readPasted(request.reveal())
      const [, before, group = '', id] = /^(.*?)\/(group\/)?([1-9][0-9]{0,17})\/?(?:[?#].*)?$/.exec(named ?? address) ?? []
      const operation = operationsWithControl.find((one) => before?.endsWith(operationRow(one).path))
      if (id === undefined || !operation)
        throw new Refused(unfit('path', 'an address such as /api/v2/sale/101, of a request with a control'))
      const path = { id, group: group !== '' }
      // As of long ago, so that replaced keys are there too.
      const registry = await loadRegistry(office.pool, await office.keys(), 0)
      const found = endpointExists({ operation, path, registry } as Received)
      const isOwn = 'entry' in found && [undefined, found.entry.merchant.login].includes(login)
      const entry = orUnknown(isOwn ? found.entry : undefined, path.group ? 'group' : 'endpoint', id)
      const read = pairs ? readFields(signedTable(operation), pairs) : refuse('body is invalid')
      // The compiler cannot see that they were read with the operation's own table.
      const signed =
        'values' in read && 'control' in read.values ? ({ operation, path, entry, ...read } as SignedFields) : undefined
      const judged = signed ? await judge(office, signed, pairs!) : unread
      const all = 'refused' in read ? read : fieldsCanBeRead({ operation, pairs, entry, registry } as Filled)
      const isNoted = 'refused' in all && !/^(?:credit_card_number|cvv2)\b/.test(all.detail)
      const notes = isNoted ? [`code ${refusals[all.refused].code}, ${refusals[all.refused].text(all.detail)}`] : []
      return { login: entry.merchant.login, operation, path: group + id, ...judged, notes: notes.map(maskCardNumbers) }
    },
    looks: ({ login, operation, path, verdict, mistakes }) => ({
      subject: `signature of ${login}`,
      details: { operation, path, verdict, mistakes: mistakes.map(({ name }) => name) },
    }),
    gives: {
      json: (explained) => explained,
      is: schema('login operation path verdict parts:object* mistakes:object* notes:text* expected? sent?'),
      blocks: ({ login, operation, path, verdict, parts, mistakes, notes, expected, sent }) => [
        { what: 'control', ...verdicts[verdict]! },
        ...mistakes.map(({ name, says }): Finding => ({ is: 'problem', what: 'mistake', says: `${name}. ${says}` })),
        ...notes.map((says): Finding => ({ is: 'warning', what: 'refused before that', says })),
        { facts: Object.entries({ Merchant: login, Operation: operation, 'Endpoint or group': path }) },
        ...(sent === null ? [] : ['What is signed, in this order and with nothing between:']),
        { facts: parts.map(({ name, value }) => [name, value || '(nothing)'] as const) },
        ...(sent === null ? [] : [{ facts: Object.entries({ [controlKey]: hiddenKey, 'makes control': expected, sent }) }]),
      ],
      fails: ({ verdict }) => verdict !== 'right',
    },
    more: `Tries the known mistakes, and each pair of them. Shows only the first digits of controls, because anybody with a whole
one can send the request. Card numbers and CVV2 are not needed: mask them or leave them out. No key of another merchant
is tried.`,
    examples: ['signature explain --request request.txt', 'signature explain --path /api/v2/sale/101 < request.txt'],
  }),
}
