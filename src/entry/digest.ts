/** The digest that the database stores of a token, a cookie, a link or a recovery code. */
import { hash } from 'node:crypto'
import type { Secret } from '../base/secret.ts'

/** Their bytes are random, so a plain digest cannot be guessed. */
export const digestOf = (text: Secret<string>): Buffer => hash('sha256', text.reveal(), 'buffer')
