import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { eciOf, networkOf } from '../three-d-secure/cards.ts'
import { cavvOf } from '../three-d-secure/cavv.ts'
import { inflateParam, writePares, type Pares } from '../three-d-secure/legacy.ts'
import type { Desk, LegacyCase, LegacyNetwork } from './desk.ts'
import { paresFaults, type Issuer } from './pares-faults.ts'

/** PARes: the issuer's result, signed with the key that the network issued. */

export function readIssuers(directory: string): Record<LegacyNetwork, Issuer> {
  const read = (network: LegacyNetwork): Issuer => ({
    key: createPrivateKey(readFileSync(join(directory, `pares-${network}.key`))),
    certificates:
      readFileSync(join(directory, `pares-${network}.pem`), 'utf8').match(/-----BEGIN [^]+?-----END CERTIFICATE-----/g) ?? [],
  })
  return { visa: read('visa'), mastercard: read('mastercard') }
}

/** The form field `PaRes`, or what a script puts in its place. */
export function paresFor(desk: Desk, one: LegacyCase, status: Pares['status']): string {
  const { issuers, earlierPares, faults, journal } = desk
  const network = networkOf(one.card.reveal()) === 'mastercard' ? 'mastercard' : 'visa'
  const of = (wanted: Pares['status']) => paresOf(desk, one, wanted)
  const pares = of(status)
  const good = writePares(pares, { ...issuers[network], hash: 'sha1' })
  const fault = faults.takeText('pares', { card: one.card.reveal() })
  // Logged as the issuer means it; the other side has to detect a script's changes.
  journal.noteXml('out', 'browser', inflateParam(good)!, fault === undefined ? {} : { fault })
  if (fault === undefined) {
    if (status === 'Y' || status === 'A') earlierPares.set(network, good)
    return good
  }
  const stranger = issuers[network === 'visa' ? 'mastercard' : 'visa']
  return paresFaults[fault]!({ pares, of, good, issuer: issuers[network], stranger, earlier: earlierPares.get(network) ?? '' })
}

function paresOf({ cavvKey, realClock, random }: Desk, { pareq, card }: LegacyCase, status: Pares['status']): Pares {
  const pan = card.reveal()
  const proven = {
    acctNumber: pan,
    // Identifies the purchase to all parties, as dsTransID does in later versions.
    dsTransID: pareq.xid,
    purchaseAmount: pareq.purchAmount,
    purchaseCurrency: pareq.currency,
  }
  return {
    pareq,
    paresId: `PARes-${random.bytes(12).toString('hex')}`,
    lastFour: pan.slice(-4),
    time: momentOf(realClock.now()),
    status,
    ...(status === 'Y' || status === 'A'
      ? // 2 is Visa's way to make a proof, 3 Mastercard's.
        {
          cavv: cavvOf(cavvKey, proven, status, '1.0.2'),
          eci: eciOf(pan, status),
          cavvAlgorithm: networkOf(pan) === 'mastercard' ? '3' : '2',
        }
      : {}),
  }
}

/** YYYYMMDD HH:MM:SS, GMT. */
const momentOf = (ms: number): string => {
  const [date = '', time = ''] = new Date(ms).toISOString().split('T')
  return `${date.replaceAll('-', '')} ${time.slice(0, 8)}`
}
