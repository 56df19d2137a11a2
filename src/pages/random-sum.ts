import { html, type Markup } from '../http/page.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import { takeSum, viewOfSum, type AskingSum, type OverSum, type SumParts, type SumView } from '../mobile-api/sum/page.ts'
import { formReader } from '../spec/form.ts'
import { lookOf, type BrandParts } from './brand.ts'
import { minutesText, moneyText, numberText, textsFor } from './languages.ts'
import type { Texts } from './texts/en.ts'
import { pageAnswer, quietText, seeOther, type Page } from './layout.ts'
import { amount, sign } from './three-d-secure-look.ts'
import { missingPage, problemPage, waitingPage } from './three-d-secure-pages.ts'

const folder = 'random-sum'

export const sumPageUrl = (publicUrl: string, token: string): string => `${publicUrl}/${folder}/${token}`

type SumPage = SumParts & BrandParts & { random: Random; turns: Turns }

/**
 * The page on which a cardholder confirms the sum that was held on the card. Each GET shows the
 * current state of the invoice, so a reload, a second tab and the back button all work.
 */
export function randomSumRoutes(base: string, parts: SumPage): Route[] {
  const path = `${base}/${folder}/:token`
  return [
    { method: 'GET', path, handle: (request) => show(base, parts, request) },
    { method: 'GET', path: `${path}/state`, handle: (request) => showState(parts, request) },
    { method: 'POST', path, handle: (request) => take(base, parts, request) },
  ]
}

const locate = async (parts: SumPage, request: Incoming): Promise<{ token: string; view: SumView | undefined }> => {
  const token = request.params.token ?? ''
  const view = /^[\w-]{22}$/.test(token) ? await viewOfSum(parts, token) : undefined
  if (!view) parts.guessed(request, { operation: 'random-sum', reason: 'unknown page' })
  return { token, view }
}

async function show(base: string, parts: SumPage, request: Incoming): Promise<Answer> {
  const { token, view } = await locate(parts, request)
  const look = await lookOf(parts, request, view)
  const { texts } = look
  const page = view ? pageOf(view, `${base}/${folder}/${token}`, request.query, parts.clock.now(), texts) : missingPage(texts)
  return pageAnswer(parts.random, page, look)
}

/** For the script of an open page: one word for what the page would show now. */
async function showState(parts: SumPage, request: Incoming): Promise<Answer> {
  const { view } = await locate(parts, request)
  return quietText(view ? 200 : 404, view?.is ?? 'missing')
}

async function take(base: string, parts: SumPage, request: Incoming): Promise<Answer> {
  const { token, view } = await locate(parts, request)
  const texts = textsFor(request.headers['accept-language'])
  if (!view) return pageAnswer(parts.random, missingPage(texts), { texts })
  const path = `${base}/${folder}/${token}`
  const pairs = request.body && (await parts.turns.run(formReader(request.body)))
  if (!pairs) return pageAnswer(parts.random, problemPage(request.overloaded ? 503 : 400, path, texts), { texts })
  const field = (name: string) => pairs.find(([other]) => other === name)?.[1] ?? ''
  const taken = await takeSum(parts, token, { answerNo: Number(field('answer')), typed: field('sum'), client: request })
  return seeOther(taken === 'taken' ? path : `${path}?${unreadable}`)
}

/** In the address of a page whose last post was not a sum. */
const unreadable = 'unreadable'

function pageOf(view: SumView, path: string, query: string, now: number, texts: Texts): Page {
  const title = texts[view.kind].title(view.merchantName)
  const top = html`<h1>${title}</h1>
    ${amountOf(view, texts)}`
  switch (view.is) {
    case 'asking':
      return askingPage({ view, title, top, path, wasUnreadable: query === unreadable }, texts)
    case 'working':
      return waitingPage(title, now, top, texts.wait.moment)
    case 'over':
      return overPage(view, title, texts)
  }
}

const amountOf = ({ amountText, currency }: SumView, texts: Texts): Markup | undefined =>
  amountText === undefined ? undefined : amount({ amountText, currency, look: { texts } })

interface Asking {
  view: AskingSum
  title: string
  top: Markup
  path: string
  wasUnreadable: boolean
}

function askingPage({ view, title, top, path, wasUnreadable }: Asking, texts: Texts): Page {
  const { sum } = texts
  const { network = sum.card, lastFour, leastText, mostText, currency, answerNo, answersLeft, minutesLeft } = view
  const complaint = wasUnreadable ? sum.noSum(numberText(texts, mostText)) : answerNo > 1 ? sum.wrong : undefined
  return {
    title,
    formAction: ["'self'"],
    content: html`${top}
      <h2>${sum.yours}</h2>
      <p>
        ${sum.held(moneyText(texts, leastText, currency), moneyText(texts, mostText, currency))}
        <strong class="card">${network} ···· ${lastFour}</strong>. ${sum.given}
      </p>
      ${complaint === undefined ? undefined : html`<p role="alert" id="complaint" class="notice bad">${complaint}</p>`}
      <form method="post" action="${path}" autocomplete="off">
        <input type="hidden" name="answer" value="${answerNo}" />
        <div class="field">
          <label for="sum">${sum.label(currency)}</label>
          <input
            id="sum"
            name="sum"
            type="text"
            inputmode="decimal"
            maxlength="12"
            autocomplete="off"
            required
            aria-describedby="${complaint === undefined ? 'left' : 'complaint left'}"
          />
        </div>
        <button>${sum.confirm}</button>
      </form>
      <p id="left" class="quiet">${sum.left(answersLeft, minutesText(texts, minutesLeft))}</p>`,
  }
}

function overPage(view: OverSum, title: string, texts: Texts): Page {
  const isApproved = view.status === 'approved'
  const outcome = texts[view.kind][isApproved ? 'approved' : 'declined']
  const about = view.unconfirmed ? texts.sum.unconfirmed : isApproved ? undefined : texts.money.none
  return {
    title: outcome,
    content: html`${sign(isApproved ? 'done' : 'failed')}
      <h1 class="news">${outcome}</h1>
      ${amountOf(view, texts)} ${about && html`<p class="about">${about}</p>`}
      <p>${title}</p>
      <p>${texts.go.app}</p>`,
  }
}
