/** How an operator names a person, and how long ago a payment must have ended to lose its data. */
import { spanText } from '../../base/moments.ts'
import { keptFor } from '../../card/forget-rows.ts'
import { anyText, fileText, id, list, span } from '../../entity/kinds.ts'
import type { Given } from '../action.ts'
import type { Bounds } from './subject.ts'

const keptSpan = ({ least }: { least: number }) => span(spanText(least).replace(' ', ''), '36500d')

export const ended = {
  olderThan: {
    is: keptSpan(keptFor.approved),
    usual: keptFor.approved.usual,
    means: 'approved payments that ended this long ago, 30d or more',
  },
  unapprovedAfter: {
    is: keptSpan(keptFor.unapproved),
    usual: keptFor.unapproved.usual,
    means: 'declined, filtered and failed payments that ended this long ago, 1h or more',
  },
} as const

export const boundsOf = ({ olderThan, unapprovedAfter }: Given<typeof ended>, now: number): Bounds => ({
  approvedBefore: now - olderThan,
  othersBefore: now - unapprovedAfter,
})

const lines = fileText(1024 * 1024)

export const named = {
  email: { is: lines, means: 'file with the e-mail address' },
  phone: { is: lines, means: 'file with the telephone number, best with its country: +44 …' },
  card: { is: lines, means: 'file with the card number' },
  order: { is: list(id, 'ids'), means: 'ids of orders of the person; several separated by commas' },
  merchant: { is: anyText('login'), means: 'only at this merchant' },
  ...ended,
} as const
