import { describe } from 'node:test'
import { openWorld } from '../../harness/world/opening.ts'
import { saleCases } from './cases.ts'
import { reversalsAfter } from './client.ts'
import { saleBrowser } from '../three-d-secure/shopper.ts'

/** URLs of a sale and data of the browser: choices.md 3 and 6, formats of EMV 3-D Secure. */

const world = await openWorld()
// Keeps the reversal of an unanswered payment open, and with it the payment and its callback.
await reversalsAfter(world, 3_600_000)

const { takes, refuses, misses } = saleCases(() => world)

describe('URLs: 1024 characters, scheme, port and credentials are checked at the request', { concurrency: 4 }, () => {
  // The acquirer never answers 217, so no outcome is reported and these hosts are never called.
  const cvv2 = '217'
  const base = 'https://shop.example/'
  for (const name of ['redirect_url', 'redirect_success_url', 'redirect_fail_url', 'server_callback_url', 'notify_url']) {
    takes(`${name} of 1024 characters`, { cvv2, [name]: base + 'a'.repeat(1024 - base.length) })
    refuses(`${name} of 1025 characters`, name, { [name]: base + 'a'.repeat(1025 - base.length) })
    refuses(`${name} that is not http or https`, name, { [name]: 'ftp://shop.example/a' })
    refuses(`${name} that is a script`, name, { [name]: 'javascript:alert(1)' })
    refuses(`${name} that is relative`, name, { [name]: '/thanks' })
    refuses(`${name} without a scheme`, name, { [name]: '//shop.example/a' })
    refuses(`${name} that is no URL`, name, { [name]: 'shop' })
    refuses(`${name} without a host`, name, { [name]: 'http://' })
    refuses(`${name} with a user`, name, { [name]: 'https://user@shop.example/' })
    refuses(`${name} with a user and a password`, name, { [name]: 'https://user:word@shop.example/' })
  }
  takes('a redirect_url on any port', { cvv2, redirect_url: 'http://shop.example:3000/back?x=1' })
  for (const name of ['server_callback_url', 'notify_url']) {
    for (const port of ['', ':80', ':8080']) takes(`${name} http${port}`, { cvv2, [name]: `http://shop.example${port}/cb` })
    for (const port of ['', ':443', ':8443']) takes(`${name} https${port}`, { cvv2, [name]: `https://shop.example${port}/cb` })
    for (const port of [81, 443, 8443, 22]) refuses(`${name} http:${port}`, name, { [name]: `http://shop.example:${port}/cb` })
    for (const port of [80, 8080, 22]) refuses(`${name} https:${port}`, name, { [name]: `https://shop.example:${port}/cb` })
    for (const host of ['127.0.0.1', 'localhost', '[::1]'])
      takes(`${name} on any port of ${host}`, { cvv2, [name]: `http://${host}:9/cb` })
    takes(`${name} at a literal address, which is judged at connection and not at the request`, {
      cvv2,
      [name]: 'https://192.0.2.1/cb',
    })
  }
})

describe(
  'customer_browser_info=true means that the fields of the browser are complete, and they are checked',
  { concurrency: 4 },
  () => {
    takes('all of them', saleBrowser)
    for (const name of Object.keys(saleBrowser).slice(1)) misses(`all but ${name}`, name, { ...saleBrowser, [name]: undefined })
    for (const name of Object.keys(saleBrowser).slice(1)) {
      takes(`without customer_browser_info, all but ${name}`, {
        ...saleBrowser,
        customer_browser_info: undefined,
        [name]: undefined,
      })
    }
    takes('customer_browser_info=false and none of them', { customer_browser_info: 'false' })
    refuses('customer_browser_info that is no boolean', 'customer_browser_info', {
      ...saleBrowser,
      customer_browser_info: 'maybe',
    })
    // oxfmt-ignore
    const table: [string, string[], string[]][] = [
    // field                                accepted                                          refused
    ['customer_browser_screen_width',       ['0', '999999'],                                  ['1000000', '-1', '10.5', 'x']],
    ['customer_browser_screen_height',      ['0', '999999'],                                  ['1000000', '-1', '10.5', 'x']],
    ['customer_browser_color_depth',        ['1', '4', '8', '15', '16', '24', '32', '48'],    ['0', 'x', '-24']],
    ['customer_browser_time_zone',          ['0', '+60', '-840', '9999'],                     ['12345', 'UTC', '1.5']],
    ['customer_browser_javascript_enabled', ['true', 'false'],                                ['yes', '1']],
    ['customer_browser_java_enabled',       ['true', 'false'],                                ['no', '0']],
    ['customer_user_agent',                 ['x', 'x'.repeat(2048), 'x'.repeat(2049), 'x'.repeat(60_000)], []],
    ['customer_accept',                     ['*/*', 'x'.repeat(2113), '😀'.repeat(9_000)], []],
    ['customer_accept_language',            ['en', 'de-1996x', 'x'.repeat(725)],              []],
  ]
    for (const [name, good, bad] of table) {
      for (const value of good) takes(`${name} ${value.slice(0, 12)} of ${value.length}`, { ...saleBrowser, [name]: value })
      for (const value of bad) refuses(`${name} ${value}`, name, { ...saleBrowser, [name]: value })
    }
    const scripted = ['screen_width', 'screen_height', 'color_depth', 'time_zone', 'java_enabled']
    takes('a browser that runs no script, and cannot tell what takes one', {
      ...saleBrowser,
      customer_browser_javascript_enabled: 'false',
      ...Object.fromEntries(scripted.map((name) => [`customer_browser_${name}`, undefined])),
    })
  },
)
