import { uuid } from '../../src/base/random.ts'
import { encodeParam, erroAbout, unusable, writeMessage, type Message, type Unusable } from '../three-d-secure/codec.ts'
import type { View } from './challenge.ts'
import type { Case, Desk } from './desk.ts'

/** The message that the browser carries to the notification URL: CRes, or Erro. */

type Over = Extract<View, { is: 'over' }>

/** Created once per challenge. Scripts change its form, never the content of RReq. */
export function partingOf(desk: Desk, one: Case, { result, delivery }: Over): { field: string; value: string } {
  one.parting ??= makeParting(desk, one, result.passed, delivery)
  return one.parting
}

function makeParting(desk: Desk, one: Case, passed: boolean, delivery: Over['delivery']): { field: string; value: string } {
  const met = { card: one.card.reveal() }
  const field = desk.faults.takeText('erro_instead_of_cres', met)
  if (field !== undefined) return erroParting(desk, one, unusable('403', 'scripted', idsAndVersion(one)), field)
  if (delivery === 'undelivered')
    return erroParting(desk, one, unusable('405', 'the result could not be delivered', idsAndVersion(one)))
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

/** An Erro in the form field of that name, unless a script changes the name. */
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
  // Adds a blank after the object if there would otherwise be nothing to pad.
  const padded = Buffer.byteLength(text) % 3 === 0 ? `${text} ` : text
  const value = encodeParam(padded)
  return value.padEnd(Math.ceil(value.length / 4) * 4, '=')
}
