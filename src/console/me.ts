/** The page of a user's own password, second factors and sessions. */
import { renderSVG } from 'uqr'
import { secret, type Secret } from '../base/secret.ts'
import { endSessions } from '../entry/session-rows.ts'
import { base32, newTotpKey, totpUri } from '../entry/totp.ts'
import { html, verbatim, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import type { Office } from '../operator/office.ts'
import { Refused } from '../operator/refused.ts'
import type { Written } from './forms.ts'
import { moment } from './blocks.ts'
import { askFresh } from './entry/fresh.ts'
import { ownAccount, setOwnPassword, setOwnTotp } from './entry/own-account.ts'
import { newPasswordFields, oneTimeCode, passkeyButton, passwordField, typed } from './entry/pages.ts'
import { addOwnPasskey, removeOwnPasskey, type PasskeyFactor } from './entry/passkeys.ts'
import { officeOf, type ConsoleParts, type Visitor } from './entry/visitor.ts'
import { framed } from './frame.ts'
import type { Pages } from './links.ts'

/** The inputs of each form of this page, by its `do`. */
type Task = (office: Office, visitor: Visitor, form: Written, parts: ConsoleParts) => Promise<Markup>
const tasks: Readonly<Record<string, Task>> = {
  async password(office, visitor, { present = '', password = '', again = '' }) {
    if (password !== again) return complaint('The two passwords differ.')
    await setOwnPassword(office, visitor, { present: secret(present), password: secret(password) })
    return done('Your password is set. Your other sessions ended.')
  },
  async totp(office, visitor, { key = '', code = '' }) {
    const codes = await setOwnTotp(office, visitor, { key: secret(Buffer.from(key, 'base64url')), code })
    return html`<section class="panel notice good">
      <h2>Recovery codes</h2>
      <p>Your second factor is set. Each of these codes lets you in once without it. They are not shown again.</p>
      <ul class="mono">
        ${codes.map((one) => html`<li>${one.reveal()}</li>`)}
      </ul>
    </section>`
  },
  async passkey(office, visitor, { name = '', answer = '' }, parts) {
    await addOwnPasskey(office, parts, visitor, { name: name.trim().slice(0, 60) || 'Passkey', answer: secret(answer) })
    return done('Your passkey was added. It signs you in without a password, and is a second factor.')
  },
  async remove(office, visitor, { passkey = '' }) {
    await removeOwnPasskey(office, visitor, passkey)
    return done('Your passkey was removed. Delete it on your device too.')
  },
  async end(office, { session }, { session: chosen = '' }) {
    const { sessions } = await ownAccount(office, session)
    const one = sessions.find(({ sessionId }) => String(sessionId) === chosen)
    if (one) await endSessions(office.pool, [one.sessionId], office.clock.now())
    return done(one ? 'The session ended.' : 'This session has already ended.')
  },
}

/** A thief of a session gets no second way in by it, guesses no password, and ends no other one. */
const touchy: ReadonlySet<string | undefined> = new Set(['password', 'totp', 'passkey', 'remove', 'end'])

type Sent = Parameters<typeof askFresh>[3]

export async function mePage(parts: ConsoleParts, pages: Pages, visitor: Visitor, sent?: Sent): Promise<Answer> {
  const office = officeOf(parts, visitor, { words: 'own account' })
  const isTouchy = sent && touchy.has(sent.form['do'])
  const ask = isTouchy && (await askFresh(parts, visitor, { path: 'me', action: { needs: 'users' } }, sent))
  if (ask) return framed(visitor, { status: 403, title: visitor.user.name, content: [ask], at: 'me' }, pages)
  const said = await tasks[sent?.form['do'] ?? '']?.(office, visitor, sent!.form, parts).catch((error: unknown) => {
    if (error instanceof Refused && error.refusal.what === 'unfit') return complaint(`It must be ${error.refusal.must}.`)
    throw error
  })
  const now = office.clock.now()
  const { session, user } = visitor
  const { hasPassword, hasTotp, passkeys, recoveryCodes, sessions } = await ownAccount(office, session)
  const content = [
    ...(said ? [said] : []),
    passwordForm(visitor, hasPassword),
    passkeyForms(visitor, passkeys, now),
    totpForm(visitor, { isSet: hasTotp, ways: recoveryCodes }, newTotpKey(office.random)),
    html`<section class="panel">
      <h2>Sessions</h2>
      <ul class="plain">
        ${sessions.map(
          (one) =>
            html`<li>
              ${one.address}, seen ${moment(one.seenAt, now)}, <span class="quiet">${one.agent}</span>
              ${
                one.sessionId === session.sessionId
                  ? html`<b>this one</b>`
                  : ownForm(
                      visitor,
                      'end',
                      html`<input type="hidden" name="session" value="${String(one.sessionId)}" /><button class="second">
                          End it
                        </button>`,
                    )
              }
            </li>`,
        )}
      </ul>
    </section>`,
  ]
  if (visitor.views.length > 0) content.push(viewsPanel(visitor))
  return framed(visitor, { title: user.name, content, at: 'me' }, pages)
}

const viewsPanel = ({ views, formToken }: Visitor): Markup =>
  html`<section class="panel">
    <h2>Views</h2>
    <ul class="plain">
      ${views.map(
        ({ name, address }) =>
          html`<li>
            <a href="${address}">${name}</a>
            <form method="post" action="/views">
              <input type="hidden" name="form" value="${formToken}" /><input type="hidden" name="name" value="${name}" />
              <button class="second">Remove it</button>
            </form>
          </li>`,
      )}
    </ul>
  </section>`

const done = (text: string): Markup => html`<p class="panel notice good" role="status">${text}</p>`
const complaint = (text: string): Markup => html`<p class="panel notice bad" role="alert">${text}</p>`

const ownForm = ({ formToken }: Visitor, what: string, inside: Markup): Markup =>
  html`<form method="post" action="/me">
    <input type="hidden" name="form" value="${formToken}" />
    <input type="hidden" name="do" value="${what}" />
    ${inside}
  </form>`

const passwordForm = (visitor: Visitor, isSet: boolean): Markup =>
  html`<details class="panel" ${isSet ? undefined : html`open`}>
    <summary>${isSet ? 'Change your password' : 'Set a password'}</summary>
    ${ownForm(
      visitor,
      'password',
      html`<div class="fields">
          ${isSet ? passwordField('present', 'Present password', 'current') : undefined} ${newPasswordFields}
        </div>
        <p class="buttons"><button>Set password</button></p>`,
    )}
  </details>`

const passkeyForms = (visitor: Visitor, passkeys: readonly PasskeyFactor[], now: number): Markup =>
  html`<section class="panel">
    <h2>Passkeys</h2>
    ${passkeys.map(({ factorId, facts, createdAt, usedAt }) => {
      const used = usedAt === undefined ? 'never' : moment(usedAt, now)
      const name = html`<input type="hidden" name="passkey" value="${String(factorId)}" />${facts.name}`
      const about = html`${name}, added ${moment(createdAt, now)}, used ${used}`
      return ownForm(visitor, 'remove', html`${about} <button class="second">Remove it</button>`)
    })}
    ${ownForm(
      visitor,
      'passkey',
      html`<input type="hidden" name="answer" />
        <div class="field">
          <label for="passkey-name">Name of another passkey, such as that of this device</label>
          <input id="passkey-name" name="name" maxlength="60" autocomplete="off" required />
        </div>
        ${passkeyButton('add', 'answer', 'Add a passkey')}`,
    )}
  </section>`

function totpForm(visitor: Visitor, { isSet, ways }: { isSet: boolean; ways: number }, key: Secret<Buffer>): Markup {
  const uri = totpUri(key, visitor.user.name, 'Tollgate').reveal()
  return html`<details class="panel" ${isSet ? undefined : html`open`}>
    <summary>${isSet ? `Replace your authenticator (${ways} recovery codes left)` : 'Add an authenticator'}</summary>
    <p>Scan this with an authenticator app, then type the code it shows.</p>
    <div class="qr">${verbatim(renderSVG(uri, { whiteColor: '#fff', blackColor: '#000', border: 3 }))}</div>
    <p class="quiet">Without a camera, type this key: <code>${base32(key.reveal())}</code></p>
    ${ownForm(
      visitor,
      'totp',
      html`<input type="hidden" name="key" value="${key.reveal().toString('base64url')}" />
        ${typed('code', 'Code', oneTimeCode)}
        <p class="buttons"><button>Add</button></p>`,
    )}
  </details>`
}
