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

export const plain = (reply: FastifyReply, status: number, text: string): FastifyReply =>
  reply.code(status).header('content-type', 'text/plain; charset=utf-8').send(text)
