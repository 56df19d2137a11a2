import { uuid } from '../../src/base/random.ts'
import { encodeParam, erroAbout, unusable, writeMessage, type Message, type Unusable } from '../three-d-secure/codec.ts'
import type { View } from './challenge.ts'
import type { Case, Desk } from './desk.ts'

/** What the browser takes to the notification URL: CRes, or Erro. */

type Over = Extract<View, { is: 'over' }>

/** Made once for a challenge. Its scripts spoil the form of it, never what RReq said. */
export function partingOf(desk: Desk, one: Case, { result, told }: Over): { field: string; value: string } {
  one.parting ??= makeParting(desk, one, result.passed, told)
  return one.parting
}

function makeParting(desk: Desk, one: Case, passed: boolean, told: Over['told']): { field: string; value: string } {
  const met = { card: one.card.reveal() }
  const field = desk.faults.takeText('erro_instead_of_cres', met)
  if (field !== undefined) return erroParting(desk, one, unusable('403', 'scripted', idsAndVersion(one)), field)
  if (told === 'undelivered') return erroParting(desk, one, unusable('405', 'the result could not be told', idsAndVersion(one)))
  const foreign = desk.faults.take('cres_foreign_ids', met)
  const cres: Message = {
    messageType: 'CRes',
    messageVersion: one.version,
    threeDSServerTransID: foreign ? uuid(desk.random) : one.threeDSServerTransID,
    acsTransID: foreign ? uuid(desk.random) : one.acsTransID,
    transStatus: passed ? 'Y' : 'N',
  }
  desk.journal.note('out', 'browser', writeMessage(cres))
  return { field: 'cres', value: spelled(desk, met, cres) }
}

/** An Erro in the form field of its own name, unless a script says otherwise. */
export function erroParting(desk: Desk, one: Case, why: Unusable, field = 'erro'): { field: string; value: string } {
  const text = writeMessage(erroAbout({ ...why, about: { ...why.about, ...idsAndVersion(one) } }, 'A'))
  desk.journal.note('out', 'browser', text)
  return { field, value: encodeParam(text) }
}

const idsAndVersion = ({ version, threeDSServerTransID, acsTransID, dsTransID }: Case) => ({
  messageVersion: version,
  threeDSServerTransID,
  acsTransID,
  dsTransID,
})

function spelled({ faults }: Desk, met: { card: string }, cres: Message): string {
  if (faults.take('cres_pretty', met)) return encodeParam(JSON.stringify(cres, null, 2))
  const text = writeMessage(cres)
  if (faults.take('cres_wrapped', met)) return encodeParam(text).replaceAll(/.{64}/g, '$&\r\n')
  if (!faults.take('cres_padded', met)) return encodeParam(text)
  // A space after the object, where without it there would be nothing to pad.
  const padded = Buffer.byteLength(text) % 3 === 0 ? `${text} ` : text
  const value = encodeParam(padded)
  return value.padEnd(Math.ceil(value.length / 4) * 4, '=')
}
