import assert from 'node:assert/strict'
import { until } from '../../harness/clock/until.ts'
import { textAt, type Json } from './mobile-merchant.ts'
import { formsOf, load, submit, type Form, type Page } from '../three-d-secure/shopper.ts'

/** A consumer in the web view of an app, without script: presses, types and waits as pages say. */

const buttonForms = ({ body, url }: Page): Form[] =>
  (body.match(/<form\b.*?<\/form>/gis) ?? [])
    .filter((html) => /<button\b|type="submit"/i.test(html))
    .flatMap((html) => formsOf(html, url))
const waits = (page: Page): boolean => buttonForms(page).length === 0 && /http-equiv="refresh"/i.test(page.body)

interface Walk {
  /** The page on which nothing is left to do. */
  last: Page
  /** How often something was asked. */
  asked: number
}

/** Opens the redirectUrl and goes on to the end. The last word is repeated. */
export async function walk(told: Json, ...words: string[]): Promise<Walk> {
  let page = await load(textAt(told, 'redirectUrl'))
  let asked = 0
  for (let pages = 0; pages < 20; pages += 1) {
    page = await until(
      async () => (pages > 0 && waits(page) ? load(page.url, undefined, page.cookies) : page),
      (seen) => {
        page = seen
        return !waits(seen)
      },
      60_000,
    )
    assert.ok(page.httpStatus < 400, `${page.httpStatus} ${page.url} ${page.body.slice(-700)}`)
    const forms = buttonForms(page)
    const question = forms.find(({ typed }) => typed.length === 1)
    const next = question ?? forms[0]
    if (!next) return { last: page, asked }
    const word = words[Math.min(asked, words.length - 1)] ?? ''
    if (question) asked += 1
    page = await submit(next, question ? { [question.typed[0] ?? '']: word } : {}, page.cookies)
  }
  return assert.fail(`no end after twenty pages: ${page.body.slice(-700)}`)
}
