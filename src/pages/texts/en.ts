/** English; by its type, what each other language has to say. Tries are at most three. */
// oxfmt-ignore
export const en = {
  lang: 'en', dir: 'ltr' as 'ltr' | 'rtl',
  sale:         { title: (shop: string) => `Payment to ${shop}`,            approved: 'Payment approved',  declined: 'Payment declined' },
  verification: { title: (shop: string) => `Card verification for ${shop}`, approved: 'Card verified',     declined: 'Card not verified' },
  transfer:     { title: (shop: string) => `Transfer with ${shop}`,         approved: 'Transfer approved', declined: 'Transfer declined' },
  ended:   { payment: 'Payment', paidTo: (shop: string) => `Paid to ${shop}`, error: 'Payment not completed', processing: 'Your payment is still being processed', givenBack: 'This payment is being refunded' },
  money:   { none: 'Nothing was charged.', held: 'The amount is held on your card.', open: 'Please do not pay again yet. The shop will tell you the outcome.' },
  why:     { issuer: 'Your bank declined. Please ask your bank, or use another card.', funds: 'The funds or the limit of the card are not sufficient.', expired: 'The card has expired.',
             authentication: 'Your bank could not confirm that it is you.', timedOut: 'It was not confirmed in time.', cancelled: 'You cancelled the confirmation.', technical: 'There was a technical problem. Please try again later.', refused: 'The shop cannot accept this payment.' },
  wait:    { processed: 'Your payment is being processed. This page goes on by itself.', moment: 'One moment. This page goes on by itself.', contacting: 'Contacting your bank…', taking: 'Taking you to your bank to confirm this payment…' },
  bank:    { title: 'Confirm the payment with your bank', asks: 'Your bank asks you to confirm this payment.', frame: 'Your bank: confirm the payment', says: 'Your bank says', go: 'Continue to your bank', nothing: 'Nothing to see above?', whole: 'Open your bank in the whole window' },
  back:    { title: 'Back from your bank', moment: 'Back from your bank. One moment…', answered: 'Your bank has answered.', unread: 'What your bank sent could not be read. Your payment is where it was.' },
  go:      { on: 'Continue', noScript: 'Scripts are switched off in this browser. The payment works without them.', going: 'You are going back to the shop.', shop: 'Return to the shop', app: 'You can go back to the app.', payment: 'Back to the payment' },
  missing: { title: 'Payment not found', is: 'There is no such payment', help: 'Please check the address, or go back to the shop and try again.' },
  problem: { busy: 'The service is busy', unread: 'That could not be read', unchanged: 'Your payment is where it was.', denied: 'Access is denied' },
  away:    { title: 'Please try again', is: 'Your payment cannot be shown right now', help: 'Nothing is lost. Please load this page again in a moment.' },
  sum:     { yours: 'Is this card yours?', card: 'Card', confirm: 'Confirm', wrong: 'That was not the sum.',
             held: (least: string, most: string) => `A small sum, from ${least} to ${most}, is held on your card`,
             given: 'Your bank shows it in its app or a message. It is released, whatever you enter.', unconfirmed: 'The sum was not confirmed. Nothing is charged, and the sum that was held is released.',
             label: (currency: string) => `Sum that is held, in ${currency}`, noSum: (like: string) => `That was no sum. Write it like ${like}.`, left: (tries: number, minutes: string) => `${tries} ${tries === 1 ? 'try' : 'tries'} and ${minutes} left.` },
  receipt: { title: (order: string) => `Receipt ${order}`, missing: 'There is no such receipt', help: 'Please check the address, or ask the shop where you paid.', to: 'Paid to', for: 'For', order: 'Order', payment: 'Payment', card: 'Card', approval: 'Approval code', reference: 'Reference', statement: 'On your statement', date: 'Date' },
}

export type Texts = typeof en
