/** Headers of the merchant's pages and refusals. */
import type { FastifyReply } from 'fastify'

export const sendPage = (reply: FastifyReply, page: string, contentSecurityPolicy: string): FastifyReply =>
  reply
    .headers({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy': contentSecurityPolicy,
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    })
    .send(page)

/** For a page that runs its own script and style, and calls only its own server. */
export const ownPolicy = (nonce: string, formAction: "'self'" | "'none'"): string =>
  `default-src 'none'; style-src 'nonce-${nonce}'; script-src 'nonce-${nonce}'; img-src data:; connect-src 'self'; ` +
  `form-action ${formAction}; base-uri 'none'; frame-ancestors 'none'`

export const plain = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).header('content-type', 'text/plain; charset=utf-8').send(text)

/** A picture inside the address itself, so that the browser need not load it. */
export const iconOf = (svg: string): string => `data:image/svg+xml,${encodeURIComponent(svg)}`
