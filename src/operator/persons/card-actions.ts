/** The card numbers of orders, which are kept sealed. */
import { counted } from '../../base/moments.ts'
import { action, type Subject } from '../action.ts'
import { forgetCards } from './cards.ts'
import { boundsOf, ended } from './inputs.ts'

export const cardActions: Subject = {
  groups: { cards: 'the card numbers of orders, which are kept sealed' },
  actions: {
    'cards forget': action({
      does: 'erases card numbers that no order needs any more',
      needs: 'erase',
      long: true,
      takes: ended,
      perform: (office, asked) => forgetCards(office, boundsOf(asked, office.clock.now())),
      gives: {
        json: (cards) => ({ cards }),
        blocks: (cards) => [`${counted(cards, 'card number')} ${cards === 1 ? 'was' : 'were'} erased.`],
      },
      more: `What is shown of a card stays: first and last digits, brand, card-hash-id.
Captures, returns and voids need no number.
create-card-ref is refused for such a payment, unless it made its reference before; references have a number of their own.
The gateways do it each hour, as CARDS_FORGET of serve says. Where that is off, run it once a day, as a member of
tollgate_retention. It can be stopped and begun again.`,
      examples: ['cards forget', 'cards forget --older-than 90d --unapproved-after 1h'],
    }),
  },
}
