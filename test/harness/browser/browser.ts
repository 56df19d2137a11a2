import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core'
import { findChromium } from './chromium.ts'

/** A cardholder's browser: a real one, without a window, that reaches this machine alone. */
export interface TestBrowser {
  /**
   * A visit in a browser without a past. It fails if `use` fails, if a page complains, or if a page
   * asks another machine for something.
   */
  visit(how: Visit, use: (page: Page, context: BrowserContext) => Promise<void>): Promise<void>
  close(): Promise<void>
}

export interface Visit {
  /** 390×844, with fingers instead of a mouse; otherwise 1280×900. */
  phone?: boolean
  width?: number
  height?: number
  script?: false
  dark?: true
  /**
   * With the animations of the pages. A spinner is drawn sixty times a second, so other visits are
   * of a cardholder whom motion disturbs.
   */
  moving?: true
  /** Accepts certificates without a known authority. */
  trusting?: true
  /** British English otherwise. */
  locale?: string
  /** Complaints that the test expects, such as about an issuer that answers 500. Each must come. */
  expects?: readonly RegExp[]
}

const withinMs = 60_000
const reachable = /^(?:127\.0\.0\.1|localhost|(?:[\w-]+\.)+localhost)$/
/** A browser calls home by itself: for updates, lists of bad sites, its maker's search engine. */
const quiet = [
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-domain-reliability',
  '--disable-sync',
  '--no-first-run',
  '--no-pings',
  '--no-proxy-server',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost',
  '--disable-gpu',
  // Containers have 64 MB there.
  '--disable-dev-shm-usage',
]

export async function openBrowser(): Promise<TestBrowser> {
  const { executable, env } = findChromium()
  const home = mkdtempSync(join(tmpdir(), 'tollgate-browser-'))
  const inherited = Object.entries(process.env).filter((pair): pair is [string, string] => pair[1] !== undefined)
  const browser = await chromium.launch({
    executablePath: executable,
    // A home of the tests alone keeps out the settings and caches of whoever runs them.
    env: { ...Object.fromEntries(inherited), HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, ...env },
    args: quiet,
    // Needs rights that containers and root do not have; the pages are our own.
    chromiumSandbox: false,
    timeout: 2 * withinMs,
  })
  return {
    visit: (how, use) => visit(browser, how, use),
    async close() {
      await browser.close()
      rmSync(home, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}

/**
 * From its next page on, time passes only as `page.clock` says. However slow the machine is,
 * nothing on the page is over before the test has looked at it.
 */
export async function standStill(page: Page): Promise<void> {
  await page.clock.install()
  await page.clock.pauseAt(new Date(Date.now() + 60_000))
}

/**
 * Goes where a link or a button leads, and has the page that comes whole: before, a form may lack
 * fields and its script.
 */
export async function follow(page: Page, to: Locator): Promise<void> {
  await to.click()
  await page.waitForLoadState('load')
}

const shownCharacters = 3_000
const lateMs = 10_000

async function visit(browser: Browser, how: Visit, use: (page: Page, context: BrowserContext) => Promise<void>): Promise<void> {
  const { phone = false, width = phone ? 390 : 1_280, height = phone ? 844 : 900, expects = [] } = how
  const context = await browser.newContext({
    viewport: { width, height },
    isMobile: phone,
    hasTouch: phone,
    javaScriptEnabled: how.script ?? true,
    ignoreHTTPSErrors: how.trusting ?? false,
    colorScheme: how.dark ? 'dark' : 'light',
    reducedMotion: how.moving ? 'no-preference' : 'reduce',
    locale: how.locale ?? 'en-GB',
    timezoneId: 'Asia/Kathmandu',
  })
  const complaints: string[] = []
  context.on('console', (message) => {
    if (message.type() === 'error') complaints.push(`${message.text()} (${message.location().url})`)
  })
  context.on('weberror', (error) => complaints.push(String(error.error())))
  context.on('request', (request) => {
    const url = new URL(request.url())
    if (/^https?:$/.test(url.protocol) && !reachable.test(url.hostname)) complaints.push(`asked ${url.href}`)
  })
  context.setDefaultTimeout(withinMs)
  try {
    await use(await context.newPage(), context)
    // The console and the page report separately: a complaint may come after its effect is visible.
    const came = (expected: RegExp) => complaints.some((complaint) => expected.test(complaint))
    for (const end = Date.now() + lateMs; !expects.every(came) && Date.now() < end;) await pause(20)
    const unexpected = complaints.filter((complaint) => !expects.some((expected) => expected.test(complaint)))
    assert.deepEqual(unexpected, [], 'the browser complains')
    for (const expected of expects) assert.ok(came(expected), `no complaint was like ${String(expected)}`)
  } catch (failed) {
    for (const page of context.pages()) console.error(await shownBy(page))
    throw failed
  } finally {
    await context.close()
  }
}

/**
 * For the reader of a failed test: where the browser was, and the words it showed, in frames too.
 */
async function shownBy(page: Page): Promise<string> {
  const shown = page.frames().map(async (frame) => {
    const words = await frame.locator('body').innerText({ timeout: 1_000 }).catch(String)
    return `At ${frame.url()} the browser showed:\n${words.slice(0, shownCharacters).replaceAll(/^/gm, '  | ')}`
  })
  return (await Promise.all(shown)).join('\n')
}
