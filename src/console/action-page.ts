/** The page of an action: its form, and what it gives. */
import { Readable } from 'node:stream'
import { uuid } from '../base/random.ts'
import { exactJson, jsonName } from '../entity/json.ts'
import type { Block } from '../entity/show.ts'
import { html, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import type { AnyAction, Inputs } from '../operator/action.ts'
import { atDesk } from '../operator/at-desk.ts'
import { tells, type Offer } from '../operator/offered.ts'
import { changes } from '../operator/permissions.ts'
import { freeKey, takeKey } from '../operator/keyed.ts'
import type { Rights } from '../operator/permissions.ts'
import { isMisfit, Refused, refusalBlock } from '../operator/refused.ts'
import type { ServingParts } from '../operator/serving.ts'
import { versionOf } from '../operator/version.ts'
import { blockMarkup } from './blocks.ts'
import { addressOf, chips, nextPage } from './filters.ts'
import { live } from './live.ts'
import { seeOther } from './request.ts'
import { askFresh } from './entry/fresh.ts'
import type { SignInPlace } from './entry/sign-in.ts'
import { formFields, labelOf, readFields, sentence, upper, writtenOf, type ReadForm, type Written } from './forms.ts'
import { officeOf, type ConsoleParts, type Visitor } from './entry/visitor.ts'
import { framed, mayGo, placeOf } from './frame.ts'
import { commandOf, type Pages } from './links.ts'

export interface Asked {
  path: string
  query: Written
  /** Posted by one of our own pages. */
  form?: Written | undefined
  caller: SignInPlace
}

/** The settings that a form would change, and their version. */
interface Present {
  was: Written
  version: string
}

export async function actionPage(
  parts: ConsoleParts,
  pages: Pages,
  visitor: Visitor,
  { path, query, form, caller }: Asked,
): Promise<Answer> {
  const offer = pages.at(path)
  const show = (
    status: number,
    content: readonly Markup[],
    title = offer ? titleOf(offer, { ...query, ...form }) : 'Not found',
  ) => framed(visitor, { status, title, content, at: path }, pages)
  if (!offer) return show(404, [html`<p>There is no such page.</p>`])
  const { action } = offer
  const { rights } = visitor
  if (!mayGo(rights, pages, path))
    return show(403, [
      html`<p>
        This needs the permission <b>${action.needs}</b>, which the role ${visitor.user.role} does not have. An owner can give you
        a role that has it.
      </p>`,
    ])

  const known = Object.entries(action.takes).flatMap(([name, input]) => (isKnown(rights, input) ? jsonName(name) : []))
  const filled = { ...Object.fromEntries(known.map((name) => [name, rights.merchant!.login])), ...query, ...form }
  const present = await presentOf(parts, pages, visitor, offer, filled)
  const opened = openedIn(form) ?? present?.was
  let written: Written = { ...present?.was, ...filled }
  const read = readFields(action.takes, written, opened)
  const page = (status: number, results: readonly Markup[], complaints?: Written) => {
    const rest = complaints ? [formOf(visitor, offer, written, { present, complaints, once: uuid(parts.office.random) })] : []
    return show(status, [head(pages, visitor, offer, written), ...results, ...rest, alsoBy(offer, written)])
  }
  if (form === undefined && (changes(action) || action.gives.parts || read.missing.length > 0)) return page(200, [], {})
  const complaints = { ...Object.fromEntries(read.missing.map((name) => [name, 'there'])), ...read.complaints }
  if (Object.keys(complaints).length > 0) return page(422, [], complaints)
  const address = form && addressOf(offer, form)
  if (address !== undefined) return seeOther(address)
  const ask = form && (await askFresh(parts, visitor, offer, { form, caller }))
  if (ask) return show(403, [head(pages, visitor, offer, written), ask])
  const key = changes(action) && written['dry_run'] !== 'true' ? form?.['once']?.slice(0, 100) : undefined
  const holder = { pool: parts.office.pool, tokenId: -visitor.session.sessionId, now: parts.office.clock.now() }
  if (key !== undefined && !(await takeKey(holder, key, Buffer.from(path)))) return page(409, [sentBefore])
  try {
    const done = await carryOut(parts, visitor, offer, { read, version: form?.['version'] })
    if ('stream' in done) return done
    // The button is not offered again: a second press would repeat the action.
    const isDone = changes(action) && written['dry_run'] !== 'true'
    const all = blocksMarkup(done.blocks, titleOf(offer, written), pages)
    const shown = action.follows ? [live(`/live/${path}?${new URLSearchParams(query).toString()}`, html`${all}`)] : all
    const on = done.blocks.flatMap((block) =>
      typeof block === 'object' && 'after' in block ? [nextPage(offer, written, block.after, visitor.formToken)] : [],
    )
    return page(200, [chips(offer, { ...query, ...form }, visitor.formToken) ?? html``, ...shown, ...on], isDone ? undefined : {})
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    const { refusal } = error
    if (key !== undefined && refusal.what !== 'proposed') await freeKey(holder, key)
    if (refusal.what === 'stale' && present && opened) {
      const others = clash(action.takes, { opened, present: present.was, written })
      written = { ...written, ...others.kept }
      return page(409, [others.shown], {})
    }
    const block = refusalBlock(refusal, (name) => labelOf(name, action.takes[name]))
    if (refusal.what === 'proposed')
      return page(202, [html`<div class="panel notice" role="status">${blockMarkup(block, pages)}</div>`])
    const said = html`<div class="panel notice bad" role="alert">${blockMarkup(block, pages)}</div>`
    return page(isMisfit(refusal) ? 422 : 409, [said], refusal.what === 'unfit' ? { [refusal.field]: refusal.must } : {})
  }
}

/** The part of an action's page that is followed live, at `/live/` and its path. */
export async function followed(parts: ServingParts, pages: Pages, visitor: Visitor, path: string, query: Written) {
  const offer = pages.at(path.slice('/live/'.length))
  if (!offer?.action.follows) return html``
  try {
    const done = await carryOut(parts, visitor, offer, { read: readFields(offer.action.takes, query), version: undefined })
    return html`${'blocks' in done ? blocksMarkup(done.blocks, '', pages) : undefined}`
  } catch (error) {
    if (error instanceof Refused) return html``
    throw error
  }
}

const sentBefore = html`<p class="panel notice bad" role="alert">
  This form was already sent, and was not carried out a second time. Open the page again for a new form.
</p>`

/** The settings when the form was opened, as the form sends them back. */
function openedIn(form: Written | undefined): Written | undefined {
  try {
    return form?.['was'] === undefined ? undefined : (JSON.parse(form['was']) as Written)
  } catch {
    return undefined
  }
}

/** Somebody else was quicker: what that one changed, and the form with both changes. */
function clash(takes: Inputs, { opened, present, written }: Record<'opened' | 'present' | 'written', Written>) {
  const changed = Object.keys(takes).flatMap(
    (name): { name: string; field: string; was: string; now: string; yours: string }[] => {
      const field = jsonName(name)
      const [was = '', now = '', yours = ''] = [opened[field], present[field], written[field]]
      return takes[name]!.change !== 'there' || was === now ? [] : [{ name, field, was, now, yours }]
    },
  )
  const kept = Object.fromEntries(changed.flatMap(({ field, was, now, yours }) => (yours === was ? [[field, now]] : [])))
  const shown = html`<section class="panel notice bad" role="alert">
    <h2>Another user has changed this in the meantime</h2>
    <p>
      Your change was not saved. The form below has both changes; where they differ, it has yours. Check it, and send it again.
    </p>
    <dl class="facts">
      ${changed.map(
        ({ name, was, now, yours }) =>
          html`<div>
            <dt>${labelOf(name, takes[name])}</dt>
            <dd>${was || 'none'} → ${now || 'none'}${yours === was || yours === now ? '' : `; you wrote ${yours || 'none'}`}</dd>
          </div>`,
      )}
    </dl>
  </section>`
  return { kept, shown }
}

/** The title of the page is not repeated. */
const blocksMarkup = (blocks: readonly Block[], title: string, pages: Pages): Markup[] =>
  blocks.filter((block) => block !== title).map((block) => blockMarkup(block, pages))

/** A text of any length is a file; all else is shown. */
async function carryOut(
  parts: ServingParts,
  visitor: Visitor,
  { words, path, action }: Offer,
  { read: { asked }, version }: { read: ReadForm; version: string | undefined },
): Promise<(Answer & { stream: Readable }) | { blocks: readonly Block[] }> {
  const result = await atDesk({ ...officeOf(parts, visitor, { ...action, words }), madeOn: version }, action, asked)
  const { gives } = action
  const text = gives.parts?.(result, exactJson)
  if (text) {
    const name = `${path.replaceAll('/', '-')}.${text.mediaType.includes('csv') ? 'csv' : 'ndjson'}`
    const headers = { 'content-disposition': `attachment; filename="${name}"` }
    return { status: 200, type: text.mediaType, body: '', stream: Readable.from(text.texts), headers }
  }
  const now = parts.office.clock.now()
  const blocks = gives.blocks?.(result, { asked, now }) ?? [
    JSON.stringify(JSON.parse(exactJson(gives.json(result, asked))), null, 2),
  ]
  const left = action.leaves?.(result)
  return {
    blocks: [
      ...shownTogether(gives, result, now),
      ...blocks,
      ...(left ? [refusalBlock(left, (name) => labelOf(name, action.takes[name]))] : []),
    ],
  }
}

/** The result of an action that a command shows item by item. */
function shownTogether({ each, all }: AnyAction['gives'], result: unknown, now: number): readonly Block[] {
  const found = each ? listOf(result) : []
  if (found.length === 0) return []
  return all ? [all(result, now)] : found.map((one) => each!(one as never))
}

const listOf = (result: unknown): readonly unknown[] =>
  Array.isArray(result) ? result : ((result as { found?: readonly unknown[] }).found ?? [])

/** The settings that `endpoint set` changes are shown by `endpoint show`. */
async function presentOf(
  parts: ServingParts,
  pages: Pages,
  visitor: Visitor,
  { path, action }: Offer,
  written: Written,
): Promise<Present | undefined> {
  if (!Object.values(action.takes).some(({ change }) => change === 'there')) return undefined
  const show = pages.at(path.replace(/set$/, 'show'))
  const read = show && readFields(show.action.takes, written)
  if (!show?.action.settings || read!.missing.length > 0 || Object.keys(read!.complaints).length > 0) return undefined
  try {
    const result = await atDesk(officeOf(parts, visitor, { ...show.action, words: show.words }), show.action, read!.asked)
    const json = show.action.gives.json(result, read!.asked) as Record<string, unknown>
    return { was: writtenOf(action.takes, json), version: versionOf(show.action.settings(result)) }
  } catch (error) {
    if (error instanceof Refused) return undefined
    throw error
  }
}

/** The meaning of the action, and links to the other actions of its subject. */
function head(pages: Pages, { rights }: Visitor, offer: Offer, written: Written): Markup {
  const subject = offer.words.split(' ')[0]!
  const isNamed = (one: Offer) =>
    Object.entries(one.action.takes).some(([name, { argument, needed }]) => argument && needed && written[jsonName(name)])
  const needsName = (one: Offer) => Object.values(one.action.takes).some(({ argument, needed }) => argument && needed)
  const others = pages.all.filter(
    (one) =>
      one.words.split(' ')[0] === subject &&
      mayGo(rights, pages, one.path) &&
      (isNamed(offer) || !needsName(one) || changes(one.action)),
  )
  return html`<p class="quiet">${sentence(offer.action.does)}</p>
    ${
      others.length < 2
        ? undefined
        : html`<nav class="chips" aria-label="${subject}">
            ${others.map((one) => {
              const label = one.words.split(' ').slice(1).join(' ') || one.words
              const present = one === offer ? html`aria-current="page"` : undefined
              return html`<a href="${linkTo(one, offer, written)}" ${present}>${label}</a>`
            })}
          </nav>`
    }`
}

/** Inputs that both actions have are passed on, unless they may be personal data. */
function linkTo(to: Offer, from: Offer, written: Written): string {
  const query = new URLSearchParams()
  for (const [name, input] of Object.entries(to.action.takes)) {
    const value = written[jsonName(name)]
    if (value && (input.argument ? from.action.takes[name]?.argument : to.action.gives.parts) && !tells(input))
      query.set(jsonName(name), value)
  }
  const asked = query.toString()
  return `/${to.path}${asked === '' ? '' : `?${asked}`}`
}

/** Whoever works for one merchant need not name it. */
const isKnown = ({ merchant }: Rights, { names }: Inputs[string]) => merchant !== undefined && names === 'merchant'

function formOf(
  { formToken, rights }: Visitor,
  { path, action, byGet }: Offer,
  written: Written,
  { present, complaints, once }: { present: Present | undefined; complaints: Written; once: string },
): Markup {
  const takes = Object.fromEntries(Object.entries(action.takes).filter(([, input]) => !isKnown(rights, input)))
  const isChange = changes(action)
  const isList = action.gives.lists ?? action.gives.parts
  if (Object.keys(takes).length === 0 && !isChange) return html``
  const isDry = 'dryRun' in takes
  const { dryRun: _dry, ...shown } = takes
  const fields = formFields(shown, written, complaints)
  const method = byGet ? 'get' : 'post'
  return html`<details class="panel" ${isChange || Object.keys(complaints).length > 0 || !byGet ? html`open` : undefined}>
    <summary>${isChange ? 'Change' : isList ? 'Filters' : 'Options'}</summary>
    <form method="${method}" action="/${path}">
      ${byGet ? undefined : html`<input type="hidden" name="form" value="${formToken}" />`}
      ${isChange ? html`<input type="hidden" name="once" value="${once}" />` : undefined}
      ${
        present &&
        html`<input type="hidden" name="version" value="${present.version}" />
          <input type="hidden" name="was" value="${JSON.stringify(present.was)}" />`
      }
      <div class="fields">${fields}</div>
      <p class="buttons">
        ${isDry ? html`<button name="dry_run" value="true" class="second">See what would change</button>` : undefined}
        <button>${isChange ? upper(path.split('/').at(-1)!.replaceAll('-', ' ')) : 'Show'}</button>
      </p>
    </form>
  </details>`
}

/** The same by command and by the API. */
const alsoBy = (offer: Offer, written: Written): Markup =>
  html`<details>
    <summary class="quiet">As a command or API call</summary>
    <p><code>${commandOf(offer, written)}</code></p>
    <p><code>POST /operator/v1/${offer.path}</code></p>
  </details>`

/** `Order 1000001`, `Return order 1000001`, or the name of the place. */
function titleOf({ words, path, action: { takes } }: Offer, written: Written): string {
  const [subject = '', ...verb] = words.split(' ')
  const names = Object.entries(takes).flatMap(([name, { argument, is }]) =>
    argument && !is.mayTell ? (written[jsonName(name)] ?? []) : [],
  )
  const named = [subject, ...names].join(' ')
  const place = placeOf(path)
  if (place !== undefined) return place
  return upper(verb.join(' ') === 'show' ? named : `${verb.join(' ')} ${named}`.trim())
}
