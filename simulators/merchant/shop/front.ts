import { asset } from '../../../src/http/asset.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { html, type Markup } from '../../../src/http/page.ts'
import { answers, products, scenarios, type Product, type TestCard } from './catalogue.ts'
import { networkBadge, shopPage } from './frame.ts'

const style = asset(new URL('./front.css', import.meta.url))

interface FrontPage {
  nonce: string
  places: BarPages
  /** As the issuer lists them. */
  cards: readonly TestCard[]
  /** The choices made already, by name; the first of each otherwise. */
  chosen: URLSearchParams
  /** Why the last try did not become an order. */
  complaint?: string
}

/**
 * One form without script: the choice is shown by style alone, so it appears immediately and works
 * everywhere.
 */
export function frontPage({ nonce, places, cards, complaint, chosen }: FrontPage): string {
  const offer = (name: string, rows: readonly Offer[]) => choices(name, rows, chosen.get(name))
  const product = pick(
    products.map(({ id }) => id),
    chosen.get('product'),
  )
  return shopPage(
    { nonce, places, title: 'Buy something', style: style + explained, isFront: true },
    html`<main>
      <h1>Buy something. Watch every message.</h1>
      <p class="lead">
        This shop sells nothing you need, through a gateway, a directory server, an issuer and an acquirer that all run on this
        machine. Choose a product and a fate, pay, and see what everybody said to each other: each field, each checksum, each
        millisecond. No money moves.
      </p>
      ${complaint === undefined ? undefined : html`<p class="notice bad" role="alert">${complaint}</p>`}
      <form method="post" action="/orders">
        <fieldset>
          <legend>1. The product</legend>
          <div class="products">${products.map((one) => productChoice(one, one.id === product))}</div>
        </fieldset>
        <div class="till panel">
          <fieldset>
            <legend>2. The card</legend>
            <label class="unseen" for="scenario">What the card does</label>
            <select id="scenario" name="scenario">
              ${scenarios.map((group) => groupOf(group, cards, chosen.get('scenario') ?? 'challenge'))}
              <optgroup label="Without 3-D Secure">
                <option value="plain" ${chosen.get('scenario') === 'plain' ? html`selected` : undefined}>
                  Charged immediately, without a question
                </option>
              </optgroup>
            </select>
            <p class="explain about-plain">No issuer is asked before the acquirer is.</p>
            ${scenarios.flatMap((group) => group.cards.map(explanation))}
          </fieldset>
          <div class="row pair">
            <fieldset>
              <legend class="small">Network</legend>
              <div class="row">${offer('network', networks)}</div>
            </fieldset>
            <fieldset class="versions">
              <legend class="small">3-D Secure version</legend>
              <div class="row">${offer('version', versions)}</div>
            </fieldset>
          </div>
          <fieldset>
            <legend>3. The CVV2 <small>decides what the acquirer says</small></legend>
            <div class="answers">${offer('cvv2', cvv2s)}</div>
          </fieldset>
          <fieldset>
            <legend>4. Who shows the bank's page</legend>
            <div class="row">${offer('way', ways)}</div>
          </fieldset>
          <fieldset>
            <legend class="small">Currency</legend>
            <div class="row">${offer('currency', currencies)}</div>
            <p class="notice wait only-plain">
              The sandbox's endpoint for euros runs without 3-D Secure: any card is charged immediately.
            </p>
          </fieldset>
          <button>Pay</button>
        </div>
      </form>
    </main>`,
  )
}

type Offer = readonly [value: string, shown: Markup]

const networks: readonly Offer[] = ['visa', 'mastercard'].map((one) => [one, networkBadge(one)])
const versions: readonly Offer[] = ['2.2.0', '2.1.0'].map((one) => [one, html`${one}`])
const cvv2s: readonly Offer[] = answers.map(([cvv2, says, more]) => [
  cvv2,
  html`<code>${cvv2}</code>${says}<small>${more}</small>`,
])
const ways: readonly Offer[] = [
  ['server-to-server', html`This shop<small>server-to-server</small>`],
  ['hosted', html`The gateway<small>hosted page</small>`],
]
const currencies: readonly Offer[] = [
  ['USD', html`US dollars`],
  ['EUR', html`Euros`],
]

/** The first, unless another one of them is wanted. */
const pick = (values: readonly string[], wanted: string | null) => values.find((one) => one === wanted) ?? values[0]

function choices(name: string, rows: readonly Offer[], wanted: string | null): Markup[] {
  const picked = pick(
    rows.map(([value]) => value),
    wanted,
  )
  return rows.map(([value, shown]) => choice(name, value, shown, value === picked))
}

/** A name that can be a class. */
const slug = (scenario: string): string => scenario.replaceAll('.', '-')

const explanation = ([scenario, , more]: readonly [string, string, string]): Markup =>
  html`<p class="explain about-${slug(scenario)}">${more}</p>`

/** The explanation of the chosen card. */
const explained = ['plain', ...scenarios.flatMap((group) => group.cards.map(([scenario]) => scenario))]
  .map((name) => `form:has(option[value="${name}"]:checked) .about-${slug(name)} { display: block }`)
  .concat(`form:has(:is(option[value="plain"], option[value^="1.0.2"]):checked) .versions { opacity: .45 }`)
  .join('\n')

const productChoice = ({ id, name, says, prices, picture }: Product, isPicked: boolean): Markup =>
  html`<div>
    <input type="radio" name="product" id="product-${id}" value="${id}" ${isPicked ? html`checked` : undefined} />
    <label class="product panel" for="product-${id}">
      <span class="picture">${picture}</span><b>${name}</b><span class="says">${says}</span>
      <span class="price"><span class="usd">${prices.USD} USD</span><span class="eur">${prices.EUR} EUR</span></span>
    </label>
  </div>`

function choice(name: string, value: string, shown: Markup, isPicked: boolean): Markup {
  const id = `${name}-${value.toLowerCase()}`
  return html`<span
    ><input type="radio" name="${name}" id="${id}" value="${value}" ${isPicked ? html`checked` : undefined} /><label
      class="choice"
      for="${id}"
      >${shown}</label
    ></span
  >`
}

/** Scenarios that the issuer does not list are left out, because they could not be paid. */
function groupOf({ group, cards: rows }: (typeof scenarios)[number], cards: readonly TestCard[], picked: string): Markup {
  const there = rows.filter(([scenario]) => cards.some((card) => card.scenario === scenario))
  if (there.length === 0) return html``
  return html`<optgroup class="secured" label="${group}">
    ${there.map(
      ([scenario, says]) =>
        html`<option value="${scenario}" ${scenario === picked ? html`selected` : undefined}>${says}</option>`,
    )}
  </optgroup>`
}
