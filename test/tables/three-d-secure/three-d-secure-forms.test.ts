import assert from 'node:assert/strict'
import { test } from 'node:test'
import { array, assert as check, constantFrom, property, string, tuple, webPath } from 'fast-check'
import {
  challengeForm,
  creqOf,
  hostedUrls,
  methodFrame,
  postForm,
  usableUrl,
  type ChallengeForm,
  type MethodFrame,
} from '../../../src/three-d-secure/forms.ts'

const transId = '8a880dc0-d2d2-4067-bcb1-b08d1690b26e'
const pageUrl = 'https://pay.example.com/gateway/3ds/AAAAAAAAAAAAAAAAAAAAAA'
const method: MethodFrame & { pageUrl: string } = {
  pageUrl,
  methodUrl: 'https://acs.example.com/method?a=1&b=2',
  threeDSServerTransID: transId,
  notificationUrl: `${pageUrl}/method`,
}
const challenge: ChallengeForm = {
  acsUrl: 'https://acs.example.com/challenge',
  threeDSServerTransID: transId,
  acsTransID: 'd7c1ee99-9478-44a6-b1f2-391e29c6b340',
  version: '2.2.0',
  windowSize: '03',
}

/** Read by hand, so that the codec is not its own witness. */
const decoded = (param: string): unknown => {
  assert.match(param, /^[A-Za-z0-9_-]+$/, 'base64url without padding')
  return JSON.parse(Buffer.from(param, 'base64url').toString('utf8'))
}

const entities: Readonly<Record<string, string>> = { '&amp;': '&', '&lt;': '<', '&gt;': '>', '&quot;': '"' }
const unescaped = (text: string) =>
  text.replace(/&(?:#(\d+)|\w+);/g, (all, code?: string) => (code ? String.fromCharCode(Number(code)) : (entities[all] ?? all)))

/**
 * The tags of a page as a browser finds them: an attribute ends at the next double quote, a tag at
 * the next > outside of quotes.
 */
const tagsOf = (page: string): { name: string; attributes: Map<string, string> }[] =>
  [...page.matchAll(/<([a-z]+)((?:[^>"]|"[^"]*")*)>/g)].map(([, name = '', rest = '']) => ({
    name,
    attributes: new Map(
      [...rest.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)].map(([, key = '', value = '']) => [key, unescaped(value)]),
    ),
  }))
const tag = (page: string, name: string) => {
  const found = tagsOf(page).filter((one) => one.name === name)
  assert.equal(found.length, 1, `one <${name}> in ${page}`)
  return found[0]!.attributes
}
const fieldsOf = (page: string) =>
  tagsOf(page)
    .filter(({ name }) => name === 'input')
    .map(({ attributes }) => [attributes.get('name'), attributes.get('value')])

test('the method frame posts threeDSMethodData into a hidden frame, and links to the hosted page without scripts', () => {
  const { threeDSMethodData, html } = methodFrame(method)
  assert.deepEqual(decoded(threeDSMethodData), {
    threeDSServerTransID: transId,
    threeDSMethodNotificationURL: method.notificationUrl,
  })
  const form = tag(html, 'form')
  assert.deepEqual([form.get('method'), form.get('action')], ['post', method.methodUrl])
  assert.deepEqual(fieldsOf(html), [['threeDSMethodData', threeDSMethodData]])
  const frame = tag(html, 'iframe')
  assert.equal(frame.get('name'), form.get('target'))
  assert.ok(frame.has('hidden') && frame.get('title'))
  assert.equal(frame.get('sandbox'), 'allow-forms allow-scripts allow-same-origin')
  const link = tag(html, 'a')
  assert.deepEqual([link.get('href'), link.get('target'), link.has('hidden')], [pageUrl, '_top', false])
  assert.match(html, /^<!doctype html>\s*<html lang="en">/)
})

test('the challenge form posts creq to the issuer, by script or by a button that is always visible', () => {
  const { creq, html } = challengeForm(challenge)
  assert.deepEqual(decoded(creq), {
    messageType: 'CReq',
    messageVersion: '2.2.0',
    threeDSServerTransID: transId,
    acsTransID: challenge.acsTransID,
    challengeWindowSize: '03',
  })
  const form = tag(html, 'form')
  assert.deepEqual([form.get('method'), form.get('action'), form.get('target')], ['post', challenge.acsUrl, '_self'])
  assert.deepEqual(fieldsOf(html), [['creq', creq]])
  assert.match(html, /<button>Continue to your bank<\/button>/)
  assert.doesNotMatch(html, /<noscript>/)
  assert.equal(creqOf(challenge), creq, 'a reload sends an identical one')
})

test('the pages of a merchant load nothing, and their only script submits the form', () => {
  for (const { html } of [methodFrame(method), challengeForm(challenge)]) {
    assert.equal(html.match(/<script/g)?.length, 1)
    assert.doesNotMatch(html, / src=|<link|<img|@import|<style|nonce/)
  }
})

const hostile = [
  'https://acs.example.com/"><script>alert(1)</script>',
  "https://acs.example.com/'onfocus='alert(1)",
  'https://acs.example.com/?q="autofocus/onfocus="alert(1)',
  'https://acs.example.com/</form><form/action=https://evil.example>',
  'https://acs.example.com/&quot;&gt;&lt;b&gt;',
  'https://acs.example.com/`${alert(1)}`<!--',
]

test('a quote, a tag or an entity in a URL stays text of its attribute', () => {
  for (const url of hostile) {
    const pages = [
      methodFrame({ ...method, methodUrl: url }).html,
      methodFrame({ ...method, notificationUrl: url }).html,
      challengeForm({ ...challenge, acsUrl: url }).html,
    ]
    assert.deepEqual([tag(pages[0]!, 'form').get('action'), tag(pages[2]!, 'form').get('action')], [url, url])
    for (const page of pages) {
      assert.equal(page.match(/<script/g)?.length, 1, url)
      assert.equal(page.match(/<form/g)?.length, 1, url)
      assert.doesNotMatch(page, /<b>|onfocus="|<!--/)
    }
  }
})

test('a browser reads any value of a form back unchanged, and nothing else', () => {
  const text = string({
    unit: constantFrom(
      'a',
      '"',
      "'",
      '<',
      '>',
      '&',
      ';',
      '#',
      '=',
      '/',
      ' ',
      'é',
      '漢',
      '${',
      '`',
      '&quot;',
      '&#34;',
      '"><script>',
      '</form>',
      '\n',
    ),
    maxLength: 12,
  })
  check(
    property(array(tuple(text, text), { maxLength: 6 }), webPath(), (fields, path) => {
      const action = `https://shop.example.com${path.startsWith('/') ? path : ''}`
      const form = postForm({ action, fields }).text
      assert.deepEqual(fieldsOf(form), fields)
      assert.equal(tag(form, 'form').get('action'), action)
      assert.equal(tagsOf(form).length, fields.length + 1)
    }),
    { numRuns: 300 },
  )
})

test('no page sends a browser to anything but http and https, or with credentials', () => {
  const refused = [
    'javascript:alert(1)',
    'JavaScript:alert(1)//https://acs.example.com',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'vbscript:x',
    'blob:https://acs.example.com/1',
    'file:///etc/passwd',
    '//acs.example.com/',
    '/challenge',
    '',
    'https:acs.example.com',
    'https://acs.example.com\\@evil.example/',
    'https://user:secret@acs.example.com/',
    'https://acs.example.com/\u0000',
  ]
  for (const url of refused) {
    assert.throws(() => methodFrame({ ...method, methodUrl: url }), /a form cannot go to/, url)
    assert.throws(() => challengeForm({ ...challenge, acsUrl: url }), /a form cannot go to/, url)
    for (const loopbackHttp of [true, false]) assert.ok('refused' in usableUrl(url, { loopbackHttp }), url)
  }
})

test('a URL in a message is https; plain http leads to this machine, where that is allowed', () => {
  //    URL                                      sandbox  production
  const cases: [string, boolean, boolean][] = [
    ['https://acs.example.com/x', true, true],
    ['https://acs.example.com:9443/x?y#z', true, true],
    ['HTTPS://ACS.example.com/', true, true],
    ['https://127.0.0.1:4000/', true, true],
    ['http://127.0.0.1:4000/method', true, false],
    ['http://2130706433:4000/', true, false],
    ['http://localhost:4000/', true, false],
    ['http://acs.localhost/', true, false],
    ['http://acs.example.com/', false, false],
    ['http://localhost.example.com/', false, false],
    ['http://127.0.0.1.example.com/', false, false],
    ['http://10.0.0.1/', false, false],
    ['http://[::1]:4000/', false, false],
    ['http://user@127.0.0.1/', false, false],
  ]
  for (const [url, sandbox, production] of cases) {
    assert.equal(usableUrl(url, { loopbackHttp: true }) instanceof URL, sandbox, url)
    assert.equal(usableUrl(url, { loopbackHttp: false }) instanceof URL, production, url)
  }
})

test("the gateway's own URLs fit the fields they go into", () => {
  const urls = hostedUrls('https://pay.example.com/', '/gateway', 'AAAAAAAAAAAAAAAAAAAAAA')
  assert.deepEqual(urls, {
    page: 'https://pay.example.com/gateway/3ds/AAAAAAAAAAAAAAAAAAAAAA',
    method: 'https://pay.example.com/gateway/3ds/AAAAAAAAAAAAAAAAAAAAAA/method',
    challenge: 'https://pay.example.com/gateway/3ds/AAAAAAAAAAAAAAAAAAAAAA/challenge',
    collector: 'https://pay.example.com/gateway/3ds/collect',
    pares: 'https://pay.example.com/gateway/3ds/AAAAAAAAAAAAAAAAAAAAAA/pares',
  })
  assert.ok(urls.page.length <= 128 && urls.challenge.length <= 256)
})
