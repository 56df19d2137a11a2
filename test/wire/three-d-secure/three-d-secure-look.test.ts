import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { PageOrder } from '../../../src/pages/three-d-secure-pages.ts'
import { closing } from '../../harness/world/opening.ts'
import { challenge, method, openPages, over, read, working } from '../../harness/three-d-secure/three-d-secure-pages.ts'

/** Language, brand and words of the hosted pages. */

const pages = closing(await openPages())

const brand = {
  merchantId: 1n,
  page: { colour: '#ffcc00', logo: { type: 'png', width: 64, height: 64, bytes: 4, sha256: '' } },
} as const

test('every page speaks the language of the order, else that of the browser, and looks like the merchant', async () => {
  // oxfmt-ignore
  const says = [
    ['en', 'Payment to Acme Toys', 'EUR 10.42',  'Payment declined',    'The card has expired. Nothing was charged.'],
    ['de', 'Zahlung an Acme Toys', '10,42 EUR',  'Zahlung abgelehnt',   'Die Karte ist abgelaufen. Es wurde nichts abgebucht.'],
    ['fr', 'Paiement à Acme Toys', '10,42 EUR',  'Paiement refusé',     'La carte a expiré. Aucun montant n’a été débité.'],
    ['es', 'Pago a Acme Toys',     '10,42 EUR',  'Pago rechazado',      'La tarjeta ha caducado. No se le ha cobrado nada.'],
    ['ru', 'Оплата: Acme Toys',    '10,42 EUR',  'Платёж отклонён',     'Срок действия карты истёк. Деньги не списаны.'],
  ] as const
  const speaking = (token: string, languages?: string) =>
    fetch(pages.at(token), { headers: languages === undefined ? {} : { 'accept-language': languages } })
  for (const [lang, title, money, declined, why] of says)
    for (const order of [method, challenge, working, { ...over, status: 'declined', why: 'expired' } as const]) {
      const browser = await read(await speaking(pages.put({ ...order, merchant: brand }), `${lang}-XX, en;q=0.1`))
      const own = await read(await speaking(pages.put({ ...order, merchant: brand, languages: lang }), 'ja, en'))
      const text = browser.page
        .replace(/<(style|script)[^>]*>.*?<\/\1>/gs, '')
        .replace(/<\/?small>/g, '')
        .replaceAll(/\s+/g, ' ')
      for (const part of [title, money, ...(order.is === 'over' ? [declined, why] : [])])
        assert.ok(text.includes(part), `${lang} ${order.is}: ${part} in ${text}`)
      for (const { page } of [own, browser]) assert.ok(page.includes(`<html lang="${lang}" dir="ltr">`))
      assert.equal(browser.page.match(/<h1/g)?.length, 1)
      assert.ok(browser.page.includes('--brand:#ffcc00;--on-brand:#000000'))
      assert.match(browser.page, /<img class="logo" src="data:image\/png;base64,bG9nbw==" alt="" \/>/)
      assert.equal(browser.policy.get('img-src'), 'data:')
    }
})

test('no page allows images other than the logo, and none requests a missing logo', async () => {
  const { page, policy } = await read(
    await pages.get(pages.put({ ...over, merchant: { merchantId: 1n, page: { colour: '#ffcc00' } } })),
  )
  assert.deepEqual([policy.get('img-src'), page.includes('<img')], [undefined, false])
})

test('the end says why, and what became of the money', async () => {
  const says = async (order: PageOrder) => (await read(await pages.get(pages.put(order)))).page
  // oxfmt-ignore
  const cases: [Partial<typeof over> | object, RegExp | undefined][] = [
    [{ status: 'declined', why: 'issuer' },     />Your bank declined\. Please ask your bank, or use another card\. Nothing was charged\.</],
    [{ status: 'declined', why: 'funds' },      />The funds or the limit of the card are not sufficient\. Nothing was charged\.</],
    [{ status: 'filtered', why: 'refused' },    />The shop cannot accept this payment\. Nothing was charged\.</],
    [{ status: 'error', why: 'technical' },     />There was a technical problem\. Please try again later\. Nothing was charged\.</],
    [{ status: 'declined' },                    />Nothing was charged\.</],
    [{ status: 'approved', held: true },        />The amount is held on your card\.</],
    [{ status: 'approved', why: 'issuer' },     undefined],
    [{ status: 'processing', why: 'issuer' },   />Please do not pay again yet\. The shop will tell you the outcome\.</],
    [{ status: 'unknown', held: true },         />Please do not pay again yet\. The shop will tell you the outcome\.</],
  ]
  for (const [order, text] of cases) {
    const page = await says({ ...over, ...order })
    if (text) assert.match(page, text)
    else assert.doesNotMatch(page, /class="about"/)
    assert.match(page, /<svg class="sign (?:done|failed|waiting)" viewBox="0 0 24 24" aria-hidden="true">/)
  }
})
