/** The pages before one has come in. */
import { html, type Markup } from '../../http/page.ts'
import type { Answer } from '../../http/server.ts'
import { gatePage } from '../frame.ts'
import type { SignInRefusal } from './sign-in.ts'

type Why = SignInRefusal | 'not ours'

const words: Readonly<Record<Why, string>> = {
  wrong: 'The name, the password or the code is wrong.',
  slowed: 'There were too many failed tries. Wait up to 30 minutes, or ask an owner for: npx tollgate user unlock.',
  'link over': 'This link was used, or its time is over. Ask for another: npx tollgate user invite.',
  'not ours': 'This form was not sent by this page. Try again here.',
}

const statusOf = (why: Why | undefined): number => (why === undefined ? 200 : why === 'slowed' ? 429 : 403)

const said = (why: Why | undefined): Markup | undefined =>
  why === undefined ? undefined : html`<p class="panel notice bad" role="alert">${words[why]}</p>`

export const signInPage = ({ why, name = '', to = '/' }: { why?: Why; name?: string | undefined; to?: string }): Answer =>
  gatePage(
    'Sign in',
    html`${said(why)}
      <form method="post" action="/sign-in" class="panel">
        <input type="hidden" name="to" value="${to}" />
        <div class="field">
          <label for="name">Name</label>
          <input id="name" name="name" value="${name}" autocomplete="username" required autofocus />
        </div>
        <div class="field">
          <label for="password">Password</label>
          <input id="password" name="password" type="password" autocomplete="current-password" required />
        </div>
        <button>Sign in</button>
      </form>`,
    statusOf(why),
  )

export const codePage = ({ why }: { why?: Why }): Answer =>
  gatePage(
    'Second factor',
    html`${said(why)}
      <form method="post" action="/sign-in/code" class="panel">
        <div class="field">
          <label for="code">Code of your authenticator, or a recovery code</label>
          <input id="code" name="code" inputmode="numeric" autocomplete="one-time-code" required autofocus />
        </div>
        <button>Go on</button>
      </form>`,
    statusOf(why),
  )

/** Opening the link does nothing: some programs open every link of a mail. */
export const linkPage = ({ why }: { why?: Why }): Answer =>
  gatePage(
    'Come in',
    html`${said(why)}
      <form method="post" class="panel">
        <p>This link lets you in once.</p>
        <button>Come in</button>
      </form>`,
    statusOf(why),
  )
