import { code, FaultScripts, isTrue, milliseconds, oneOf, words, type EffectRule } from '../three-d-secure/faults.ts'

const text = {
  fits: (value: unknown) => value === true || (typeof value === 'string' && value.length <= 65_536),
  must: 'true, or the exact text to answer with',
}
const status = {
  fits: (value: unknown) => typeof value === 'number' && Number.isInteger(value) && value >= 400 && value <= 599,
  must: 'a number from 400 to 599',
}

const legacyCode = {
  fits: (value: unknown) => typeof value === 'string' && /^[0-9]{1,2}$/.test(value),
  must: 'a code of one or two digits, in quotes',
}

const rules = {
  down: { ...isTrue, means: 'the message port refuses connections until the fault is deleted', cardless: true },
  delay_ms: { ...milliseconds, means: 'the answer comes this much later' },
  silent: { ...isTrue, means: 'the message is never answered' },
  erro: { ...code, means: 'answers Erro with this code' },
  http_status: { ...status, means: 'answers this HTTP status without a body' },
  garbage: { ...text, means: 'answers with something that is not a message' },
  wrong_ids: { ...isTrue, means: 'ARes or PRes with another threeDSServerTransID, VERes with another Message id' },
  wrong_version: { ...isTrue, means: 'ARes or PRes with the other messageVersion' },
  stand_in: { ...isTrue, means: 'answers A with a proof for the issuer, as when its ACS is off' },
  enrolled: { ...oneOf('Y', 'N', 'U'), means: 'VERes has this value, whatever the card says', of: 'VEReq' },
  veres_url: { ...words(4096), means: 'VERes has this url, however hostile', of: 'VEReq' },
  legacy_error: { ...legacyCode, means: 'VEReq is answered with this Error of 1.0.2', of: 'VEReq' },
  wrong_delta: { ...isTrue, means: 'PRes with ranges that cannot be applied', cardless: true },
  odd_range: {
    ...oneOf('backwards', 'incomplete', 'contradicting', 'respelled'),
    means:
      'PRes with one entry more: it ends before it starts, lacks a field, ' +
      'or repeats the first with other contents or in 19 digits',
    cardless: true,
  },
  only_210: { ...isTrue, means: 'a PReq of 2.2.0 is answered with Erro 102', cardless: true },
} as const satisfies Record<string, EffectRule>

export type DirectoryFaults = FaultScripts<keyof typeof rules>

/** A script without `message` is about AReq. */
export const openFaults = (): DirectoryFaults => new FaultScripts(rules, ['AReq', 'PReq', 'RReq', 'VEReq', 'any'])
