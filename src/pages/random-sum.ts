import { asset } from '../http/asset.ts'
import { html, type Markup } from '../http/page.ts'
import type { Answer, Incoming, Route } from '../http/server.ts'
import type { Random } from '../base/random.ts'
import type { Turns } from '../base/turn.ts'
import { takeSum, viewOfSum, type AskingSum, type OverSum, type SumParts, type SumView } from '../mobile-api/sum-page.ts'
import { formReader } from '../spec/form.ts'
import { mobileKind } from '../spec/mobile/kinds.ts'
import { pageAnswer, quietHeaders, type Page } from './layout.ts'
import { doing, style } from './three-d-secure-look.ts'
import { missingPage, problemPage } from './three-d-secure-pages.ts'
import { workingScript } from './three-d-secure-script.ts'

const folder = 'random-sum'

export const sumPageUrl = (publicUrl: string, token: string): string => `${publicUrl}/${folder}/${token}`

type SumPage = SumParts & { random: Random; turns: Turns }

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
  const page = view ? pageOf(view, `${base}/${folder}/${token}`, request.query, parts.clock.now()) : missingPage
  return pageAnswer(parts.random, page)
}

/** For the script of an open page: one word for what the page would show now. */
async function showState(parts: SumPage, request: Incoming): Promise<Answer> {
  const { view } = await locate(parts, request)
  return {
    status: view ? 200 : 404,
    type: 'text/plain;charset=utf-8',
    headers: quietHeaders,
    body: view?.is ?? 'missing',
  }
}

/** After a post the browser is redirected, so that a reload repeats nothing. */
async function take(base: string, parts: SumPage, request: Incoming): Promise<Answer> {
  const { token, view } = await locate(parts, request)
  if (!view) return pageAnswer(parts.random, missingPage)
  const path = `${base}/${folder}/${token}`
  const pairs = request.body && (await parts.turns.run(formReader(request.body)))
  if (!pairs) return pageAnswer(parts.random, problemPage(request.overloaded ? 503 : 400, path))
  const field = (name: string) => pairs.find(([other]) => other === name)?.[1] ?? ''
  const answer = { answerNo: Number(field('answer')), typed: field('sum'), client: request }
  const taken = await takeSum(parts, token, answer)
  return {
    status: 303,
    type: 'text/plain;charset=utf-8',
    headers: { location: taken === 'taken' ? path : `${path}?${unreadable}`, ...quietHeaders },
    body: '',
  }
}

/** In the address of a page whose last post was not a sum. */
const unreadable = 'unreadable'

function pageOf(view: SumView, path: string, query: string, now: number): Page {
  switch (view.is) {
    case 'asking':
      return askingPage(view, path, query === unreadable)
    case 'working':
      return {
        status: 200,
        title: titleOf(view),
        style,
        script: workingScript,
        asks: true,
        refresh: { seconds: 2, to: `?since=${now}` },
        content: html`${heading(view)}
          <div data-since="${now}">${doing('One moment. This page goes on by itself.')}</div>`,
      }
    case 'over':
      return overPage(view)
  }
}

const titleOf = ({ kind, merchantName }: SumView): string => `${mobileKind(kind).page.title} ${merchantName}`

const heading = (view: SumView): Markup =>
  html`<h1>${titleOf(view)}</h1>
    ${amountOf(view)}`

const amountOf = ({ amountText, currency }: SumView): Markup | undefined =>
  amountText === undefined ? undefined : html`<p class="amount">${amountText} <small>${currency}</small></p>`

function askingPage(view: AskingSum, path: string, wasUnreadable: boolean): Page {
  const { network = 'Card', lastFour, leastText, mostText, currency, answerNo } = view
  const complaint = wasUnreadable
    ? `That was no sum. Write it like ${mostText}.`
    : answerNo > 1
      ? 'That was not the sum.'
      : undefined
  return {
    status: 200,
    title: titleOf(view),
    style: style + formStyle,
    formAction: ["'self'"],
    content: html`${heading(view)}
      <h2>Is this card yours?</h2>
      <p>
        A small sum, from ${leastText} to ${mostText} ${currency}, is held on your card
        <strong class="card">${network} ···· ${lastFour}</strong>. Your bank shows it in its app or a message. Whatever you enter,
        it is given back.
      </p>
      ${complaint === undefined ? undefined : html`<p role="alert" id="complaint" class="complaint">${complaint}</p>`}
      <form method="post" action="${path}" autocomplete="off">
        <input type="hidden" name="answer" value="${answerNo}" />
        <label for="sum">Sum that is held, in ${currency}</label>
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
        <button>Confirm</button>
      </form>
      <p id="left" class="left">${leftText(view)}</p>`,
  }
}

const leftText = ({ answersLeft, minutesLeft }: AskingSum): string =>
  `${many(answersLeft, 'try', 'tries')} and ${many(minutesLeft, 'minute', 'minutes')} left.`

const many = (n: number, one: string, more: string): string => `${n} ${n === 1 ? one : more}`

function overPage(view: OverSum): Page {
  const { kind, status, unconfirmed } = view
  const outcome = mobileKind(kind).page[status === 'approved' ? 'approved' : 'declined']
  return {
    status: 200,
    title: outcome,
    style,
    content: html`<h1 class="news">${outcome}</h1>
      ${amountOf(view)}
      <p>${titleOf(view)}</p>
      ${
        unconfirmed
          ? html`<p>The sum was not confirmed. Nothing is charged, and the sum that was held is given back.</p>`
          : undefined
      }
      <p>You can go back to the app.</p>`,
  }
}

const formStyle = asset(new URL('./random-sum.css', import.meta.url))
