import assert from 'node:assert/strict'
import crypto from 'node:crypto'
import { syncBuiltinESMExports } from 'node:module'
import { secret, type Secret } from '../../../src/base/secret.ts'
import { startConsole } from '../../../src/console/start.ts'
import type { SsoSettings } from '../../../src/console/entry/single-sign-on.ts'
import { codeAt, stepAt } from '../../../src/entry/totp.ts'
import type { ServingOptions } from '../../../src/operator/serving.ts'
import type { OperatorRole } from '../../../src/operator/permissions.ts'
import type { HandClock } from '../clock/hand-clock.ts'
import { startOwn } from './api.ts'

/** What came back: a redirect is not followed. */
export interface Seen {
  status: number
  /** Where a redirect leads. */
  to: string
  html: string
  headers: Headers
}

/** A browser without script: it keeps cookies, and posts forms as they stand in pages. */
export class Visit {
  readonly url: string
  readonly origin: string
  readonly cookies = new Map<string, string>()
  headers: Record<string, string> = {}

  constructor(port: number, origin: string) {
    this.url = `http://127.0.0.1:${port}`
    this.origin = origin
  }

  /** As a browser sends them. */
  get cookie(): string {
    return Array.from(this.cookies, (pair) => pair.join('=')).join('; ')
  }

  get(path: string): Promise<Seen> {
    return this.#ask(path, {})
  }

  /** Posts what a form of a page of this session would. */
  async post(path: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}): Promise<Seen> {
    const form = this.cookies.size === 0 ? undefined : await this.formToken()
    return this.send(path, { ...(form !== undefined && { form }), ...fields }, headers)
  }

  /** Posts just this. */
  send(path: string, fields: Record<string, string>, headers: Record<string, string> = {}): Promise<Seen> {
    const body = new URLSearchParams(fields).toString()
    const from = { origin: this.origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/x-www-form-urlencoded' }
    return this.#ask(path, { method: 'POST', body, headers: { ...from, ...headers } })
  }

  async formToken(): Promise<string> {
    const { html } = await this.get('/me')
    return /name="form" value="([^"]+)"/.exec(html)?.[1] ?? ''
  }

  async #ask(path: string, init: RequestInit): Promise<Seen> {
    const sent = {
      ...this.headers,
      ...(init.headers as Record<string, string>),
      ...(this.cookies.size > 0 && { cookie: this.cookie }),
    }
    const answer = await fetch(this.url + path, { redirect: 'manual', ...init, headers: sent })
    for (const set of answer.headers.getSetCookie()) {
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(set)!
      if (set.includes('Max-Age=0')) this.cookies.delete(name!)
      else this.cookies.set(name!, value!)
    }
    const { status, headers } = answer
    return { status, to: headers.get('location') ?? '', html: await answer.text(), headers }
  }
}

export const password = 'a phrase that is long'

// A password costs a tenth of a second of processor time, as it should, and these consoles look at
// hundreds. Here each costs less than a thousandth of it. The test of passwords and the console of
// a world, which is a process of its own, pay in full.
const { scrypt } = crypto
crypto.scrypt = ((text, salt, bytes, { p }: crypto.ScryptOptions, done) =>
  scrypt(text, salt, bytes, { N: 2, p: p ?? 1 }, done)) as typeof scrypt
syncBuiltinESMExports()

/** A console in this process, as in production but for its origin on this machine. */
interface OwnConsole {
  databaseUrl: string
  keyFile: string
  clock: HandClock
  sso?: SsoSettings
}

export async function startOwnConsole({ clock, sso, ...own }: OwnConsole) {
  let origin = ''
  const originAt = (port: number) => (origin = `http://console.localhost:${port}`)
  const start = (options: ServingOptions) => startConsole({ ...options, originAt, ...(sso && { sso }) })
  const serving = await startOwn({ ...own, clock, proxies: '127.0.0.1' }, start)
  const { port, tell } = serving
  let made = 0
  const visit = () => new Visit(port, origin)
  /** A new user, and the path of a link. */
  async function invited(role: OperatorRole, merchant?: string, expires = '7d'): Promise<{ user: string; path: string }> {
    const user = `${role}-${process.pid}-${made++}`
    await tell(['user', 'add', user, '--role', role, ...(merchant === undefined ? [] : ['--merchant', merchant])])
    const { path } = JSON.parse(await tell(['user', 'invite', user, '--expires', expires, '--json'])) as { path: string }
    return { user, path }
  }
  /** Somebody who has come in by a link. */
  async function entered(path: string): Promise<Visit> {
    const one = visit()
    const { status, to } = await one.send(path, {})
    assert.deepEqual([status, to], [303, '/'])
    return one
  }
  let address = 0
  /** From an address of its own: failures from others do not slow it. */
  const elsewhere = (one: Visit): Visit => {
    one.headers['x-forwarded-for'] = `203.0.113.${++address}`
    return one
  }
  /** Sets password and second factor as a new user has to; returns what the authenticator knows. */
  async function enrol(one: Visit): Promise<{ key: Secret<Buffer>; recovery: string[] }> {
    const set = await one.post('/me', { do: 'password', password, again: password })
    assert.match(set.html, /Your password is set/)
    return addTotp(one)
  }
  async function addTotp(one: Visit): Promise<{ key: Secret<Buffer>; recovery: string[] }> {
    const { html } = await one.get('/me')
    const text = /name="key" value="([^"]+)"/.exec(html)![1]!
    const key = secret(Buffer.from(text, 'base64url'))
    const added = await one.post('/me', { do: 'totp', key: text, code: codeAt(key, stepAt(clock.now())) })
    assert.match(added.html, /second factor is set/)
    const recovery = Array.from(added.html.matchAll(/<li>((?:[A-Z2-7]{4}-){3}[A-Z2-7]{4})<\/li>/g), ([, code]) => code!)
    assert.equal(new Set(recovery).size, 10)
    return { key, recovery }
  }
  /** A user who has enrolled, and is out again. */
  async function known(...who: Parameters<typeof invited>) {
    const { user, path } = await invited(...who)
    const one = elsewhere(await entered(path))
    const factors = await enrol(one)
    await one.post('/sign-out')
    clock.pass(60_000)
    return { user, ...factors }
  }
  /** The same without a password, which takes its time. */
  async function inside(...who: Parameters<typeof invited>): Promise<Visit> {
    const one = elsewhere(await entered((await invited(...who)).path))
    await addTotp(one)
    return one
  }
  const signIn = (one: Visit, name: string, tried = password) => one.send('/sign-in', { name, password: tried })
  /** By both factors; the code is a new one. */
  async function comeIn({ user, key }: { user: string; key: Secret<Buffer> }): Promise<Visit> {
    const one = elsewhere(visit())
    assert.equal((await signIn(one, user)).status, 303)
    clock.pass(60_000)
    assert.equal((await one.send('/sign-in/code', { code: codeAt(key, stepAt(clock.now())) })).to, '/')
    return one
  }
  return { ...serving, url: origin, visit, invited, entered, elsewhere, enrol, known, signIn, comeIn, inside }
}
