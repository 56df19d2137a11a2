/** The pages before one has come in. */
import { leastCharacters } from '../../entry/password.ts'
import { asset, keptFile, packagedAsset } from '../../http/asset.ts'
import { html, type Markup } from '../../http/page.ts'
import type { Answer } from '../../http/server.ts'
import { gatePage } from '../frame.ts'
import type { SignInRefusal } from './sign-in.ts'

type Why = SignInRefusal | 'not ours' | 'way over'

const words: Readonly<Record<Why, string>> = {
  wrong: 'The name, the password or the code is wrong.',
  slowed: 'There were too many failed tries. Wait up to 30 minutes, or ask an owner to run npx tollgate user unlock.',
  'link over': 'This link was used already, or has expired. Ask an owner for a new one.',
  weak: `The password needs ${leastCharacters} characters, six of them different. A well-known word or your name is not enough.`,
  differ: 'The two passwords differ.',
  'wrong code': 'The code or the passkey was not correct. Give all of it again; the link still works.',
  'not ours': 'This form was not sent from this page. Try again here.',
  'no passkey': 'This passkey is not accepted. It may have been removed. Try again, or sign in another way.',
  'no account': 'No user is linked to your account at the provider. Ask an owner to link it (npx tollgate user link).',
  'way over': 'Signing in at the provider failed: it took too long, was refused, or got no answer. Try again, or sign in here.',
}

const page = (title: string, why: Why | undefined, content: Markup): Answer =>
  gatePage(
    title,
    html`${why && html`<p class="panel notice bad" role="alert">${words[why]}</p>`} ${content}`,
    why === undefined ? 200 : why === 'slowed' ? 429 : 403,
  )

const library = packagedAsset('@simplewebauthn/browser', '../dist/bundle/index.umd.min.js')
const script = keptFile('passkey', 'js', `${library}\n${asset(new URL('./passkey.js', import.meta.url))}`)
export const passkeyScript = script.route

/** In a form, whose field `into` gets the answer. It shows itself where there are passkeys. */
export const passkeyButton = (asks: 'sign-in' | 'prove' | 'add', into: string, label: string): Markup =>
  html`<button type="button" class="second" data-passkey="${asks}" data-into="${into}" hidden>${label}</button>
    <p class="complaint" role="alert"></p>
    <script src="${script.path}" defer></script>`

/** A field that has to be filled in; `is` are further attributes. */
export const typed = (name: string, label: string, is: Markup): Markup =>
  html`<div class="field">
    <label for="${name}">${label}</label>
    <input id="${name}" name="${name}" ${is} required />
  </div>`
export const passwordField = (name: string, label: string, kind: 'current' | 'new'): Markup =>
  typed(name, label, html`type="password" autocomplete="${kind}-password"`)
export const newPasswordFields = html`${passwordField('password', `New password, at least ${leastCharacters} characters`, 'new')}
${passwordField('again', 'The same password again', 'new')}`
export const codeLabel = 'Code of your authenticator, or a recovery code'
export const oneTimeCode = html`inputmode="numeric" autocomplete="one-time-code"`

/** `host`: of the provider of single sign-on. */
export type SignInShown = { why?: Why; name?: string; to?: string; host?: string | undefined }

export const signInPage = ({ why, name = '', to = '/', host }: SignInShown): Answer =>
  page(
    'Sign in',
    why,
    html`<form method="post" action="/sign-in" class="panel">
        <input type="hidden" name="to" value="${to}" />
        ${typed('name', 'Name', html`value="${name}" autocomplete="username" autofocus`)}
        ${passwordField('password', 'Password', 'current')}
        <button>Sign in</button>
      </form>
      <form method="post" action="/sign-in/passkey">
        <input type="hidden" name="to" value="${to}" />
        <input type="hidden" name="answer" />
        ${passkeyButton('sign-in', 'answer', 'Sign in with a passkey')}
      </form>
      ${
        host &&
        html`<form method="post" action="/sign-in/account">
          <input type="hidden" name="to" value="${to}" />
          <button class="second">Sign in with ${host}</button>
        </form>`
      }
      <p class="quiet">If you forgot your password, ask an owner to run npx tollgate user reset-password.</p>`,
  )

export const codePage = ({ why, to = '/', hasPasskey = false }: { why?: Why; to?: string; hasPasskey?: boolean }): Answer =>
  page(
    'Second factor',
    why,
    html`<form method="post" action="/sign-in/code" class="panel">
      <input type="hidden" name="to" value="${to}" />
      ${typed('code', codeLabel, html`${oneTimeCode} autofocus`)}
      <button>Continue</button>
      ${hasPasskey ? passkeyButton('prove', 'code', 'Use a passkey') : undefined}
    </form>`,
  )

/** Opening the link does nothing: some programs open every link of a mail. */
export const linkPage = (why?: Why): Answer =>
  page(
    'Sign in by a link',
    why,
    html`<form method="post" class="panel">
      <p>This link works once.</p>
      <button>Sign in</button>
    </form>`,
  )

/** The password counts behind the second factor alone, and the link until it is set. */
export const resetPage = (why?: Why): Answer =>
  page(
    'Set a new password',
    why,
    html`<form method="post" class="panel">
      <p>This link works once. It ends all your sessions.</p>
      ${newPasswordFields} ${typed('code', codeLabel, oneTimeCode)}
      <button>Set password</button>
      ${passkeyButton('sign-in', 'code', 'Use a passkey')}
    </form>`,
  )

/**
 * The ways to single sign-on and back. A page of ours leads on: the policy of pages lets no form
 * end on another site, and a browser that another site sends does not show the strict cookie.
 */
export function onwardPage(title: string, to: string, cookie: string): Answer {
  const shown = page(title, undefined, html`<p><a href="${to}">Continue</a></p>`)
  return { ...shown, headers: { ...shown.headers, 'set-cookie': cookie, refresh: `0; url=${to}` } }
}
