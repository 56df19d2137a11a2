import { paramInflater } from '../../../three-d-secure/legacy/pares-param.ts'
import type { LegacyAuthentication } from '../legacy.ts'
import { enrol } from './enrol.ts'
import { pareqForm } from './pareq.ts'
import { judgePares } from './pares.ts'
import type { LegacyParts } from './parts.ts'

export const openLegacy = (parts: LegacyParts): LegacyAuthentication => ({
  enrol: (held, transaction) => enrol(parts, held, transaction),
  form: (order, transaction) => pareqForm(parts, order, transaction),
  async unreadable(paRes) {
    const inflated = await parts.turns.run(paramInflater(paRes))
    return inflated.is === 'refused' && inflated.unreadable ? inflated.why : undefined
  },
  judge: (order, transaction, answer) => judgePares(parts, order, transaction, answer),
})
