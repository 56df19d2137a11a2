import type { Fields } from './form.ts'

/**
 * What the cardholder has to do before the order goes on. Every one can be done by sending the
 * browser to `redirectTo`, a page of the gateway's, or by printing `html`; or by a form of the
 * merchant's own, which is what the rest is for.
 */
export type Step = MethodFrame | Challenge | PayerAuthentication | Redirect

interface Shown {
  redirectTo?: string
  /** A page that sends the form by itself. */
  html?: string
}

/**
 * The issuer's method in a hidden frame, for ten seconds at most; then `upload-method-url-result`.
 */
export interface MethodFrame extends Shown {
  is: 'method frame'
  threeDSServerTransID: string
  methodUrl: string
}

/** The issuer asks the cardholder, and waits 30 seconds to begin; then `upload-cres-result`. */
export interface Challenge extends Shown {
  is: 'challenge'
  acsUrl: string
  creq: string
}

/** The same of 3-D Secure 1.0.2; then `upload-pares-result`. */
export interface PayerAuthentication extends Shown {
  is: 'payer authentication'
  acsUrl: string
  pareq: string
  md: string
}

/** Anything else that a page of the gateway's knows how to do. */
export interface Redirect extends Shown {
  is: 'redirect'
  redirectTo: string
}

export function stepOf(fields: Fields): Step | undefined {
  const { html, 'redirect-to': redirectTo, 'tds-status': tdsStatus } = fields
  const shown = { ...(html === undefined ? {} : { html }), ...(redirectTo === undefined ? {} : { redirectTo }) }
  const field = (name: string): string => fields[`tds-${name}`] ?? ''
  switch (tdsStatus) {
    case 'MethodUrlFrame':
      return {
        is: 'method frame',
        threeDSServerTransID: field('method-url-frame-3ds-server-trans-id'),
        methodUrl: field('method-url-frame-3ds-method-url'),
        ...shown,
      }
    case 'CReqForm':
      return { is: 'challenge', acsUrl: field('creq-form-acs-url'), creq: field('creq-form-creq'), ...shown }
    case 'PaReqForm':
      return {
        is: 'payer authentication',
        acsUrl: field('pareq-form-acs-url'),
        pareq: field('pareq-form-pareq'),
        md: field('pareq-form-md'),
        ...shown,
      }
    default:
      return redirectTo === undefined ? undefined : { ...shown, is: 'redirect', redirectTo }
  }
}

/** A form for the cardholder's browser to post. */
export interface BrowserForm {
  action: string
  fields: Record<string, string>
}

/**
 * For a hidden frame. The issuer has the frame post `threeDSMethodData` to the notification URL
 * when its method is over.
 */
export function methodForm({ methodUrl, threeDSServerTransID }: MethodFrame, notificationUrl: string): BrowserForm {
  const data = JSON.stringify({ threeDSServerTransID, threeDSMethodNotificationURL: notificationUrl })
  return { action: methodUrl, fields: { threeDSMethodData: Buffer.from(data).toString('base64url') } }
}

/** For the window or a frame. It posts `cres` to the notification URL of the method's upload. */
export const challengeForm = ({ acsUrl, creq }: Challenge): BrowserForm => ({ action: acsUrl, fields: { creq } })

/** For the whole window. The issuer has it post `PaRes` and `MD` to `termUrl`. */
export const payerForm = ({ acsUrl, pareq, md }: PayerAuthentication, termUrl: string): BrowserForm => ({
  action: acsUrl,
  fields: { PaReq: pareq, TermUrl: termUrl, MD: md },
})
