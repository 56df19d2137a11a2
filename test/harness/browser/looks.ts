import { fileURLToPath } from 'node:url'
import type { Frame, Page } from 'playwright-core'
import { hasPlainLinks, linesOf, poorContrasts } from './contrast.ts'

/** What is wrong with how a page looks, in a line for each place. */

const axe = fileURLToPath(import.meta.resolve('axe-core/axe.min.js'))
/** Levels A and AA of WCAG 2.0 to 2.2. */
const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']

/**
 * What axe-core does not look at: contrasts of edges and of placeholders, sizes of what is pressed
 * (it takes small ones that stand apart), one title of the page, what sticks out. Runs in the page.
 */
const others = `(() => {
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true })
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1)
    canvas.fillStyle = colour
    canvas.fillRect(0, 0, 1, 1)
    return [...canvas.getImageData(0, 0, 1, 1).data]
  }
  const over = ([r, g, b, a], below) => [r, g, b].map((part, i) => (part * a + below[i] * (255 - a)) / 255)
  const paper = (one) => {
    if (!one) return [255, 255, 255]
    const colour = rgba(getComputedStyle(one).backgroundColor)
    return colour[3] === 255 ? colour.slice(0, 3) : over(colour, paper(one.parentElement))
  }
  const luminance = (colour) => {
    const [r, g, b] = colour.map((part) => part / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    return 0.2126 * r + 0.7152 * g + 0.0722 * b
  }
  const said = []
  const is = (one) => one.outerHTML.slice(0, 90)
  const least = (one, what, colour, on, ratio) => {
    const [dark, light] = [luminance(over(rgba(colour), on)), luminance(on)].sort((a, b) => a - b)
    const has = (light + 0.05) / (dark + 0.05)
    if (has < ratio) said.push(what + ' ' + has.toFixed(2) + ': ' + is(one))
  }
  for (const one of document.querySelectorAll('button, select, input, textarea, summary, .chips a, .places a')) {
    if (!one.checkVisibility() || one.closest('.unseen')) continue
    if (one.placeholder) least(one, 'placeholder', getComputedStyle(one, '::placeholder').color, paper(one), 4.5)
    if (one.matches('input:not([type=checkbox], [type=radio]), select, textarea'))
      least(one, 'edge', getComputedStyle(one).borderTopColor, paper(one.parentElement), 3)
    const { width, height } = one.getBoundingClientRect()
    if (!/^(checkbox|radio)$/.test(one.type) && (width < 24 || height < 24)) said.push('size: ' + is(one))
  }
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  said.push(...ids.filter((id, i) => ids.indexOf(id) !== i).map((id) => 'twice: ' + id))
  if (self === top && document.querySelectorAll('h1').length !== 1) said.push('not one h1')
  const wide = document.documentElement.scrollWidth - innerWidth
  if (wide > 0) said.push('sticks out by ' + wide)
  return said
})()`

/** How many pixels lie beside the window. */
const beside = 'document.documentElement.scrollWidth - innerWidth'

/** Another module looks at the contrast of texts. */
const judged = (runOnly: object) => `(async () => {
  const rules = { 'target-size': { enabled: true }, 'color-contrast': { enabled: false } }
  const options = { runOnly: ${JSON.stringify(runOnly)}, rules, iframes: false, resultTypes: ['violations'] }
  return (${linesOf})(await axe.run(document, options))
})()`

/** From its next document on the page can be looked at. No tag of ours gets past its policy. */
export const makeReady = (page: Page): Promise<unknown> => page.addInitScript({ path: axe })

/** Looks at the page as it is, then in both themes with all opened that is folded, frames too. */
export async function complaintsOf(page: Page): Promise<string[]> {
  const said: string[] = []
  const look = async (frame: Frame, code: string) => said.push(...(await frame.evaluate<string[]>(code)))
  const wide = await page.evaluate<number>(beside)
  if (wide > 0) said.push(`sticks out by ${wide} while folded`)
  const frames = page.frames().filter((frame) => frame.url().startsWith('http'))
  for (const frame of frames) await frame.evaluate(`for (const one of document.querySelectorAll('details')) one.open = true`)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const frame of frames) {
      await look(frame, others)
      said.push(...(await poorContrasts(frame)))
      if (colorScheme === 'light') await look(frame, judged({ type: 'tag', values: tags }))
      // No other rule depends on the theme.
      else if (await frame.evaluate(hasPlainLinks)) await look(frame, judged({ type: 'rule', values: ['link-in-text-block'] }))
    }
  }
  return Array.from(new Set(said), (one) => `${page.viewportSize()!.width} px, ${page.url()}: ${one}`)
}

/** What sticks out, at widths between a phone and a wall. */
export async function sticksOut(page: Page): Promise<string[]> {
  const said: string[] = []
  for (const width of [390, 600, 737, 1_000, 1_920, 2_560]) {
    await page.setViewportSize({ width, height: 900 })
    const over = await page.evaluate<number>(beside)
    if (over > 0) said.push(`${width} px, ${page.url()}: sticks out by ${over}`)
  }
  return said
}
