import { asset } from '../../../src/http/asset.ts'
import { html, type Markup } from '../../../src/http/page.ts'
import type { BarPages } from '../../../src/http/bar.ts'
import { goodUntil } from '../../../src/spec/gateway/examples.ts'
import { iconOf, peoplePage } from '../../page.ts'

const style = asset(new URL('./page.css', import.meta.url)) + asset(new URL('./phone.css', import.meta.url))

export interface AppEndpoint {
  id: string
  name: string
}

interface AppPage {
  nonce: string
  /** Including its path. */
  gatewayBaseUrl: string
  endpoints: readonly AppEndpoint[]
  places: BarPages
  now: number
}

/** The purpose of each endpoint of the sandbox. */
const about: Readonly<Record<string, string>> = {
  mobile: '3-D Secure: the bank may ask on a page of its own.',
  mobile_fee: 'A transfer has a price at each of two gates, and you choose.',
  mobile_random_sum: 'No 3-D Secure: a small sum is held on the card, and whoever can name it is the cardholder.',
}

/** Cards to try. Typing another number is as good: any with a valid check digit is a card here. */
// oxfmt-ignore
const cards: readonly { says: string; number: string; securityCode: string }[] = [
  { says: 'No questions asked', number: '4111111111111111', securityCode: '111' },
  { says: 'The bank asks',      number: '4000000000002164', securityCode: '123' },
  { says: 'No money left',        number: '5555555555554444', securityCode: '116' },
]

const icon = iconOf(asset(new URL('./mark.svg', import.meta.url)))

/**
 * The page of the demo app: what it is, the phone, and the calls. Everything that moves is the
 * script's.
 */
export function appPage({ nonce, gatewayBaseUrl, endpoints, places, now }: AppPage): string {
  return peoplePage(
    { nonce, title: 'Pocket, a payment app · Tollgate', places, here: 'App', style, icon },
    html`<main class="desk" data-gateway="${gatewayBaseUrl}">
        ${introduction(endpoints)} ${phone(goodUntil(now).slice(2))}
        <section class="calls" aria-labelledby="calls-title">
          <h2 id="calls-title">What was said</h2>
          <ol class="legend" aria-label="Who speaks to whom">
            <li><span class="chip who app-merchant">app ▸ merchant</span> may I?</li>
            <li><span class="chip who app-gateway">app ▸ gateway</span> here is the card; is it over?</li>
            <li><span class="chip who gateway-merchant">gateway ▸ merchant</span> is this yours? This is the card’s name.</li>
          </ol>
          <p id="calls-empty" class="quiet">
            Nothing yet. Do something on the phone, and every call appears here: of the app to its merchant and to the gateway,
            and of the gateway to the merchant.
          </p>
          <ol id="calls"></ol>
          <p class="quiet"><a href="/log">The merchant's journal</a> has the calls of all consumers, as JSON.</p>
        </section>
      </main>
      <noscript><p class="panel">The app is a script; this browser runs none. The shop works without.</p></noscript>
      <script type="module" src="/app/look.js" nonce="${nonce}"></script>`,
  )
}

const introduction = (endpoints: AppPage['endpoints']): Markup =>
  html`<header class="about">
    <h1>An app that pays. Watch it think.</h1>
    <p>
      Pocket is the app of a merchant. It registers cards, pays and sends money by the mobile API. The card number goes to the
      gateway alone; the merchant only ever hears of
      <em>a card</em>, and signs what the app may ask. No money moves; never use a real card.
    </p>
    <p>
      <label for="endpoint">Endpoint</label>
      <select id="endpoint">
        ${endpoints.map(({ id, name }) => html`<option value="${id}" data-says="${about[name] ?? ''}">${name}</option>`)}
      </select>
    </p>
    <p id="endpoint-says" class="quiet"></p>
  </header>`

const money = (id: string, value: string): Markup =>
  html`<label for="${id}">Amount</label>
    <p class="money">
      <input id="${id}" name="amount" inputmode="decimal" autocomplete="off" value="${value}" required /> <span>USD</span>
    </p>`

const chip = ({ says, number, securityCode }: (typeof cards)[number]): Markup =>
  html`<button type="button" class="chip" data-number="${number}" data-code="${securityCode}">${says}</button>`

/** The fields of a card; the sandbox's acquirer decides by the security code. */
const cardFields = (of: string, year: string): Markup =>
  html`<div class="chips" role="group" aria-label="Cards to try">${cards.map(chip)}</div>
    <label for="${of}-number">Card number</label>
    <input id="${of}-number" name="number" inputmode="numeric" autocomplete="off" required value="4111 1111 1111 1111" />
    <div class="pair">
      <p>
        <label for="${of}-expiry">Expires</label
        ><input
          id="${of}-expiry"
          name="expiry"
          inputmode="numeric"
          autocomplete="off"
          placeholder="12/${year}"
          required
          value="12/${year}"
        />
      </p>
      <p>
        <label for="${of}-code">Security code</label
        ><input id="${of}-code" name="code" inputmode="numeric" autocomplete="off" required pattern="[0-9]{3,4}" value="111" />
      </p>
    </div>
    <label for="${of}-holder">Name on the card</label>
    <input id="${of}-holder" name="holder" autocomplete="off" required maxlength="50" value="ADA LOVELACE" />`

/**
 * Saved cards, filled in by the script, and one to type; the fields of the latter are shown when it
 * is chosen.
 */
const sourceFields = (of: string, year: string): Markup =>
  html`<fieldset class="source">
    <legend>Pay from</legend>
    <div class="saved" data-name="source"></div>
    <label class="option"><input type="radio" name="source" value="" checked /> Another card</label>
    <div class="typed">${cardFields(of, year)}</div>
    <p class="code-alone" hidden>
      <label for="${of}-saved-code">Security code</label
      ><input id="${of}-saved-code" name="savedCode" inputmode="numeric" autocomplete="off" pattern="[0-9]{3,4}" value="111" />
    </p>
  </fieldset>`

const back = html`<button type="button" class="link back" data-go="home">‹ Back</button>`

const busyAndOver = html`<div class="screen" data-screen="busy" tabindex="-1" hidden>
    <h2 id="busy-title"></h2>
    <p class="amount" id="busy-amount"></p>
    <p role="status"><span class="spinner" aria-hidden="true"></span> <span id="busy-state"></span></p>
    <p id="busy-rates" class="quiet" hidden></p>
    <div id="redirect" class="sheet" hidden>
      <h3>Is it you?</h3>
      <p id="bank" class="notice" hidden><b>Your bank</b> <span id="bank-says"></span></p>
      <p>
        The gateway wants to be sure, on a page of its own. An app opens that in a web view; here it is a window, which closes
        when it is over.
      </p>
      <p id="redirect-hint" class="quiet"></p>
      <button type="button" id="redirect-open">Open the page</button>
    </div>
    <form id="fees" class="sheet" hidden>
      <fieldset>
        <legend>What may it cost?</legend>
        <div id="fee-list"></div>
      </fieldset>
      <button>Complete transfer</button>
    </form>
  </div>

  <div class="screen" data-screen="over" tabindex="-1" hidden>
    <p id="over-mark" aria-hidden="true"></p>
    <h2 id="over-title"></h2>
    <p class="amount" id="over-amount"></p>
    <p id="over-why"></p>
    <p id="over-money"></p>
    <dl id="over-facts" class="facts"></dl>
    <div class="actions">
      <button type="button" id="over-again" data-go="pay" hidden>Try another card</button>
      <button type="button" class="second" data-go="home">Done</button>
    </div>
  </div>`

const phone = (year: string): Markup =>
  html`<section class="phone" aria-label="The app on a phone">
    <p class="bar" aria-hidden="true"><span id="clock"></span><span>▂▄▆ &nbsp;5G</span></p>
    <div class="screen" data-screen="home">
      <h2>Pocket</h2>
      <p class="quiet">Hello, <span id="consumer"></span>. These are your cards.</p>
      <ul id="wallet" aria-label="Saved cards"></ul>
      <p id="wallet-empty" class="quiet">No card yet. Register one, which charges nothing; or just pay, and it is remembered.</p>
      <div class="actions">
        <button type="button" data-go="pay">Pay</button>
        <button type="button" class="second" data-go="send">Send money</button>
        <button type="button" class="second" data-go="register">Register a card</button>
      </div>
    </div>

    <form class="screen" data-screen="register" hidden>
      ${back}
      <h2>Register a card</h2>
      <p class="quiet">A verification: the bank says whether the card is good, and nothing is charged.</p>
      ${cardFields('register', year)}
      <button>Register</button>
    </form>

    <form class="screen" data-screen="pay" hidden>
      ${back}
      <h2>Café Idempotent</h2>
      <p class="quiet">One flat white. Order it twice, pay for it once.</p>
      ${money('pay-amount', '4.20')} ${sourceFields('pay', year)}
      <button>Pay</button>
    </form>

    <form class="screen" data-screen="send" hidden>
      ${back}
      <h2>Send money</h2>
      <p class="quiet">From card to card. The cost comes on top, and whoever receives it gets all of the amount.</p>
      ${money('send-amount', '25.00')} ${sourceFields('send', year)}
      <fieldset class="destination">
        <legend>To</legend>
        <div class="saved" data-name="destination"></div>
        <label class="option"><input type="radio" name="destination" value="" checked /> A card number</label>
        <p class="typed">
          <label class="unseen" for="send-to">Number of the card that receives</label
          ><input id="send-to" name="to" inputmode="numeric" autocomplete="off" required value="5555 5555 5555 4444" />
        </p>
      </fieldset>
      <button>Send</button>
    </form>

    ${busyAndOver}
  </section>`
