/** What users see of themselves: password, second factor, sessions. */
import { renderSVG } from 'uqr'
import { agoText } from '../base/moments.ts'
import { secret, type Secret } from '../base/secret.ts'
import { leastCharacters } from '../entry/password.ts'
import { endSessions } from '../entry/session-rows.ts'
import { base32, newTotpKey, totpUri } from '../entry/totp.ts'
import { html, verbatim, type Markup } from '../http/page.ts'
import type { Answer } from '../http/server.ts'
import type { Office } from '../operator/office.ts'
import { Refused } from '../operator/refused.ts'
import type { ServingParts } from '../operator/serving.ts'
import type { Written } from './forms.ts'
import { ownAccount, setOwnPassword, setOwnTotp } from './entry/own-account.ts'
import { officeOf, type Visitor } from './entry/visitor.ts'
import { framed } from './frame.ts'
import type { Pages } from './links.ts'

/** What a form of this page asks for, by its `do`. */
const tasks: Readonly<Record<string, (office: Office, visitor: Visitor, form: Written) => Promise<Markup>>> = {
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
  async end(office, { session }, { session: chosen = '' }) {
    const { sessions } = await ownAccount(office, session)
    const one = sessions.find(({ sessionId }) => String(sessionId) === chosen)
    if (one) await endSessions(office.pool, [one.sessionId], office.clock.now())
    return done(one ? 'The session ended.' : 'It had ended already.')
  },
}

export async function mePage(parts: ServingParts, pages: Pages, visitor: Visitor, form?: Written): Promise<Answer> {
  const office = officeOf(parts, visitor, { words: 'own account' })
  const task = form && tasks[form['do'] ?? '']
  const said = await task?.(office, visitor, form!).catch((error: unknown) => {
    if (error instanceof Refused && error.refusal.what === 'unfit') return complaint(`It must be ${error.refusal.must}.`)
    throw error
  })
  const now = office.clock.now()
  const { session, user } = visitor
  const { hasPassword, hasTotp, recoveryCodes, sessions } = await ownAccount(office, session)
  const content = [
    html`<h1>${user.name}</h1>`,
    ...(said ? [said] : []),
    passwordForm(visitor, hasPassword),
    totpForm(visitor, { isSet: hasTotp, ways: recoveryCodes }, newTotpKey(office.random)),
    html`<section class="panel">
      <h2>Sessions</h2>
      <ul class="plain">
        ${sessions.map(
          (one) =>
            html`<li>
              ${one.address}, seen ${agoText(one.seenAt, now)}, <span class="quiet">${one.agent}</span>
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

const passwordField = (name: string, label: string, kind: 'current' | 'new') =>
  html`<div class="field">
    <label for="${name}">${label}</label>
    <input id="${name}" name="${name}" type="password" autocomplete="${kind}-password" required />
  </div>`

const passwordForm = (visitor: Visitor, isSet: boolean): Markup =>
  html`<details class="panel" ${isSet ? undefined : html`open`}>
    <summary>${isSet ? 'Change your password' : 'Set a password'}</summary>
    ${ownForm(
      visitor,
      'password',
      html`<div class="fields">
          ${isSet ? passwordField('present', 'Present password', 'current') : undefined}
          ${passwordField('password', `New password, at least ${leastCharacters} characters`, 'new')}
          ${passwordField('again', 'The same again', 'new')}
        </div>
        <p class="buttons"><button>Set password</button></p>`,
    )}
  </details>`

function totpForm(visitor: Visitor, { isSet, ways }: { isSet: boolean; ways: number }, key: Secret<Buffer>): Markup {
  const uri = totpUri(key, visitor.user.name, 'Tollgate').reveal()
  return html`<details class="panel" ${isSet ? undefined : html`open`}>
    <summary>${isSet ? `Replace your authenticator (${ways} recovery codes left)` : 'Add an authenticator'}</summary>
    <p>Scan this with an authenticator app, then type the code that it shows.</p>
    <div class="qr">${verbatim(renderSVG(uri, { whiteColor: '#fff', blackColor: '#000', border: 3 }))}</div>
    <p class="quiet">Without a camera, type this key: <code>${base32(key.reveal())}</code></p>
    ${ownForm(
      visitor,
      'totp',
      html`<input type="hidden" name="key" value="${key.reveal().toString('base64url')}" />
        <div class="field">
          <label for="code">Code</label>
          <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required />
        </div>
        <p class="buttons"><button>Add</button></p>`,
    )}
  </details>`
}
