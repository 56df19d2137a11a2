/** An operation of the mobile API, as its page tries it: as the app, its server or the gateway. */
import type { Secret } from '../../base/secret.ts'
import { sleep, systemClock } from '../../base/clock.ts'
import { html } from '../../http/page.ts'
import { sessionSignature } from '../../merchant/session.ts'
import { refusalBody } from '../../spec/mobile/answers.ts'
import { exampleRequestValues } from '../../spec/mobile/examples.ts'
import { mobileRow, type MobileOperation } from '../../spec/mobile/operations.ts'
import type { SignedText } from '../../spec/mobile/signatures.ts'
import { signedParts } from './gateway.ts'
import { flat, jsonTrial, type JsonRow } from './json.ts'
import { valuesOf, type Post, type Trial, type Understood, type FormValues } from './trial.ts'

export interface MobileParts {
  baseUrl: string
  /** Where the merchant's server is. */
  server: () => string
  controlKey: Secret<string>
  /** Where the consumer of a transfer chooses the fee, and 3-D Secure is off. */
  endpoint: string
  post: Post
}

/** Nothing has such a value before a call has made it. */
const made = /^(?:(?:endpoint|invoice|assigned)Id|session\..*)$|clientCardId$/
const feeIn = (fees = ''): string | undefined => /"assignedId":"([^"]*)"/.exec(fees)?.[1]

/** The calls that come first, in their order, and what each makes. */
const calls = ['request-access-token', 'initiate', 'perform'] as const
const makes = ['a consumer who is signed in', 'an invoice', 'a transaction'] as const

export function mobileTrial(operation: MobileOperation, parts: MobileParts): Trial {
  const { side, caller, path, request, answer, carries, kind = 'sale' } = mobileRow(operation)
  const usual = new Map([...exampleRequestValues(operation)].map(([name, value]) => [name, `${value as string | number}`]))
  const at = calls.findIndex((one) => operation.startsWith(one))
  const before = at === -1 ? calls.length : at
  const rows = [
    ...[...path.matchAll(/\{(\w+)\}/g)].map(([, name]): JsonRow => ({ name: name!, must: true, means: 'a part of the path' })),
    ...Object.entries(request).map(([name, { need, means, is }]): JsonRow => {
      return { name, must: need === 'mandatory', means, is, usual: (!made.test(name) && usual.get(name)) || '' }
    }),
    // The table lacks it: it is the sandbox's server that lets its app choose.
    ...(at === 1 ? [{ name: 'endpointId', means: 'the endpoint that takes it', usual: parts.endpoint }] : []),
  ]
  // A check repeats the signature of the app, over values that it does not have.
  const signed = carries?.parts.every((part) => rows.some(({ name }) => name === part.path)) ? carries : undefined
  return jsonTrial({
    slug: `reference/mobile-${operation}`,
    url: (side === 'service' ? parts.baseUrl : parts.server()) + path,
    rows: rows.filter(({ name }) => name !== signed?.at),
    ...(before > 0 && {
      need: {
        words: makes[before - 1]!,
        isThere: (values: FormValues) => Boolean(values.get('session.accessToken')),
        make: () => makeFor(parts, kind, before),
      },
    }),
    sign: signed && ((values) => signatureOf(signed, values, parts.controlKey)),
    means: { ...refusalBody, ...answer },
    next: (seen) => (side === 'service' && caller === 'app' ? nextOf(kind, seen) : []),
  })
}

function signatureOf({ at, parts }: SignedText, values: FormValues, key: Secret<string>) {
  const valued = parts.map(({ path: name }) => ({ name, value: values.get(name) ?? '' }))
  const missing = valued.find(({ value }) => value === '')
  if (missing) return { complaint: `${missing.name} is missing: ${at} covers it.` }
  const proof = sessionSignature(
    valued.map(({ value }) => value),
    key,
  )!
  const signature = html`<p class="quiet">The merchant's server signs these values, without separators, for its app:</p>
    ${signedParts(valued)}
    <p class="quiet">Their HMAC-SHA1 with the control key:</p>
    <pre>${at}=${proof}</pre>`
  return { member: [at, proof] as const, signature }
}

/** The status of what the app has sent; and the choice of a fee, where it is due. */
function nextOf(kind: string, seen: FormValues): Understood['next'] {
  const assignedId = feeIn(seen.get('transferFeeList'))
  const kept = Object.fromEntries([...seen].filter(([name]) => made.test(name)))
  const query = new URLSearchParams({ ...kept, ...(assignedId && { assignedId }) }).toString()
  const names = [`${kind}-status`, ...(assignedId ? ['complete-transfer'] : [])]
  return names.map((name) => [name, `/docs/reference/mobile-${name}?${query}`])
}

/** Makes so many of the calls, and waits for what becomes of a transaction. */
async function makeFor(parts: MobileParts, kind: string, many: number): Promise<Record<string, string>> {
  const seen: Record<string, string> = { consumer: `docs-${systemClock.now().toString(36)}` }
  const call = async (name: string) => {
    const trial = mobileTrial(name as MobileOperation, parts)
    const { status, body } = await parts.post(trial.ask(valuesOf(trial.fields(new Map(Object.entries(seen))))))
    if (status !== 200) throw new Error(`${name} was answered ${body.slice(0, 500)}`)
    Object.assign(seen, Object.fromEntries(flat(body)))
  }
  for (const one of calls.slice(0, many)) await call(one === calls[0] ? one : `${one}-${kind}`)
  const end = systemClock.now() + 20_000
  while (many === calls.length && (seen.state ?? 'PROCESSING') === 'PROCESSING') {
    await call(`${kind}-status`)
    if (systemClock.now() > end) throw new Error(`the ${kind} stays ${seen.state}`)
    await sleep(systemClock, 50)
  }
  const assignedId = feeIn(seen.transferFeeList)
  return { ...seen, ...(assignedId && { assignedId }) }
}
