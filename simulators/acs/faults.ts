import { code, FaultScripts, isTrue, milliseconds, oneOf, words, type EffectRule } from '../three-d-secure/faults.ts'
import { paresFaults } from './pares-faults.ts'

const rules = {
  down: { ...isTrue, means: 'the message port refuses connections until the fault is deleted', cardless: true },
  off: { ...isTrue, means: 'AReq is answered with HTTP 503, so that the directory server stands in' },
  silent: { ...isTrue, means: 'AReq is never answered' },
  delay_ms: { ...milliseconds, means: 'ARes comes this much later' },
  areq_erro: { ...code, means: 'AReq is answered with this Erro' },
  trans_status: { ...oneOf('Y', 'A', 'N', 'R', 'U', 'I', 'D', 'C'), means: 'ARes has this status, whatever the card says' },
  without: { ...words(64), means: 'ARes lacks this field' },
  acs_url: { ...words(4096), means: 'ARes has this acsURL, however hostile' },
  cardholder_info: { ...words(4096), means: 'ARes has this text for the cardholder, however hostile' },
  method_delay_ms: { ...milliseconds, means: 'the method page comes this much later', cardless: true },
  method_dead: { ...isTrue, means: 'the method page never answers', cardless: true },
  method_error: { ...isTrue, means: 'the method page answers HTTP 500', cardless: true },
  rreq_late_ms: { ...milliseconds, means: 'CRes is sent immediately, RReq this much later' },
  rreq_twice: { ...isTrue, means: 'RReq is sent a second time when the first was answered' },
  rreq_missing: { ...isTrue, means: 'RReq is not sent' },
  rreq_contradicts: { ...isTrue, means: 'RReq says the opposite of CRes, which is right' },
  cres_padded: { ...isTrue, means: 'cres with = at its end' },
  cres_pretty: { ...isTrue, means: 'cres of indented JSON' },
  cres_wrapped: { ...isTrue, means: 'cres with a line break every 64 characters' },
  cres_foreign_ids: { ...isTrue, means: 'CRes with ids of no transaction' },
  erro_instead_of_cres: {
    ...oneOf('cres', 'erro'),
    means: 'an Erro goes to the notification URL, in the form field of this name',
  },
  pares: { ...oneOf(...Object.keys(paresFaults)), means: 'PARes of 1.0.2 is wrong in this way' },
} as const satisfies Record<string, EffectRule>

export type AcsFaults = FaultScripts<keyof typeof rules>

export const openFaults = (): AcsFaults => new FaultScripts(rules)
