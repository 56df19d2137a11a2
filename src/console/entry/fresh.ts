/** Where money, keys or users move, the second factor has to be fresh. */
import { secret } from '../../base/secret.ts'
import { html, type Markup } from '../../http/page.ts'
import type { Offer } from '../../operator/offered.ts'
import { changes, type Permission } from '../../operator/permissions.ts'
import type { Written } from '../forms.ts'
import { codeLabel, oneTimeCode, passkeyButton, typed } from './pages.ts'
import { proveAgain, type SignInPlace } from './sign-in.ts'
import type { ConsoleParts, Visitor } from './visitor.ts'

const freshMs = 10 * 60_000
const touchy: ReadonlySet<Permission> = new Set(['money', 'secrets', 'users', 'erase', 'system'])
const field = 'second_factor'

/**
 * Undefined if the action may be carried out; else what asks for the second factor, with all that
 * the form had. Only a sandbox has users without one.
 */
export async function askFresh(
  parts: ConsoleParts,
  visitor: Visitor,
  { action, path }: { action: Pick<Offer['action'], 'needs' | 'reads'>; path: string },
  { form, caller }: { form: Written; caller: SignInPlace },
): Promise<Markup | undefined> {
  const { session, formToken } = visitor
  const isAsked = changes(action) && touchy.has(action.needs) && form['dry_run'] !== 'true' && session.hasSecondFactor
  if (!isAsked || parts.office.clock.now() - (session.provenAt ?? 0) <= freshMs) return undefined
  const { [field]: code, form: _token, ...rest } = form
  const proven = code === undefined ? false : await proveAgain(parts, visitor, secret(code), caller)
  if (proven === true) return undefined
  const why =
    proven === 'slowed' ? 'There were too many wrong codes. Wait, or ask an owner to unlock you.' : 'This code was not correct.'
  return html`<form method="post" action="/${path}" class="panel notice">
    ${code === undefined ? undefined : html`<p class="complaint" role="alert">${why}</p>`}
    <input type="hidden" name="form" value="${formToken}" />
    ${Object.entries(rest).map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`)}
    ${typed(field, codeLabel, html`${oneTimeCode} autofocus`)}
    <p class="quiet">You last proved your second factor more than ten minutes ago. You can also sign in again.</p>
    <p class="buttons"><button>Continue</button></p>
    ${session.hasPasskey ? passkeyButton('prove', field, 'Use a passkey') : undefined}
  </form>`
}
