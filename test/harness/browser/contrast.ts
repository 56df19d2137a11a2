import type { Frame } from 'playwright-core'

/**
 * Contrast is most of what axe-core computes, and hundreds of texts have the same colours on the
 * same paper. Every text is named by what its contrast comes from; axe-core measures one text of
 * each name, and then no other one of that name, on that page or a later one, if it has passed.
 *
 * Texts without a name are measured each time: those over an image, and those around which
 * something is translucent, filtered or moved. Text that is positioned is named by where it stands
 * too, and need not have a ratio to be measured once: it may be out of sight, or partly behind
 * another.
 */

/** The names that have passed, on all pages of this process. */
const passed = new Set<string>()

const naming = `
  const theme = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light'
  const placeOf = (one) => (one ? placeOf(one.parentElement) + '>' + one.tagName + '.' + one.className : '')
  const isOpaque = (colour) => /^rgb\\(/.test(colour)
  const memo = (find) => {
    const found = new Map()
    return (one) => (found.has(one) ? found : found.set(one, find(one))).get(one)
  }
  const styleOf = memo((one) => getComputedStyle(one))
  const isPlain = memo((one) => {
    if (one === null) return true
    const { opacity, filter, mixBlendMode, transform } = styleOf(one)
    return opacity === '1' && filter === 'none' && mixBlendMode === 'normal' && transform === 'none' && isPlain(one.parentElement)
  })
  /** What a text is on, down to the first opaque background. */
  const layersOf = memo((one) => {
    if (one === null) return []
    const { position, backgroundImage, backgroundColor } = styleOf(one)
    if (backgroundImage !== 'none') return ['image']
    if (isOpaque(backgroundColor)) return [backgroundColor]
    const own = [backgroundColor, position].filter((word) => word !== 'rgba(0, 0, 0, 0)' && word !== 'static')
    return [...own, ...layersOf(one.parentElement)]
  })
  const nameOf = (text) => {
    const layers = layersOf(text)
    if (!isPlain(text) || layers.includes('image')) return undefined
    const { color, fontSize, fontWeight, textShadow, webkitTextStroke } = styleOf(text)
    const place = layers.every((layer) => layer.startsWith('rgb')) ? '' : placeOf(text)
    return [theme, color, fontSize, fontWeight, textShadow, webkitTextStroke, 'on', ...layers, place].join(' ')
  }
  const isPlaced = (name) => name !== undefined && name.includes('>HTML.')
  const hasWords = ({ childNodes }) => Array.from(childNodes).some((one) => one.nodeType === 3 && one.data.trim() !== '')`

/** A line for each place where a rule is broken, of a result of axe-core. */
export const linesOf = `({ violations }) => {
  const place = ({ html, failureSummary = '' }) => html.slice(0, 160) + ' ' + failureSummary.replace(/\\s+/g, ' ').slice(0, 240)
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => id + ': ' + place(node)))
}`

const measuring = () => `(async () => {
  ${naming}
  const passed = new Set(${JSON.stringify([...passed])})
  const texts = Array.from(document.querySelectorAll('*'))
    .filter((one) => hasWords(one) || one.matches('input, select, textarea'))
    .filter((one) => one.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
    .map((one) => ({ one, name: nameOf(one) }))
  axe.configure({ rules: [{ id: 'color-contrast', selector: '[data-measured]' }] })
  const runOnly = { type: 'rule', values: ['color-contrast'] }
  const lines = []
  const names = new Set()
  const measure = async (some) => {
    if (some.length === 0) return
    const chosen = new Set(some)
    for (const text of texts) text.one.toggleAttribute('data-measured', chosen.has(text))
    const options = { runOnly, resultTypes: ['violations', 'passes', 'incomplete'], elementRef: true, iframes: false }
    const { violations, passes, incomplete } = await axe.run(document, options)
    lines.push(...(${linesOf})({ violations }))
    const nodesOf = (results) => results.flatMap(({ nodes }) => nodes)
    for (const { element, any } of nodesOf([...passes, ...incomplete]))
      if (any.some(({ data }) => data?.messageKey === 'equalRatio' || (!data?.messageKey && data?.contrastRatio > 0)))
        names.add(nameOf(element))
    const poor = new Set(nodesOf(violations).map(({ element }) => element))
    for (const { one, name } of some) if (isPlaced(name) && !poor.has(one)) names.add(name)
  }
  const left = texts.filter(({ name }) => !passed.has(name))
  const first = new Map(left.map((text) => [text.name ?? text.one, text]))
  await measure([...first.values()])
  const measured = new Set(first.values())
  await measure(left.filter((text) => !measured.has(text) && !names.has(text.name)))
  return { lines, names: [...names].filter((name) => name !== undefined) }
})()`

/** Which texts of a document have too little contrast in its theme. */
export async function poorContrasts(frame: Frame): Promise<string[]> {
  const { lines, names } = await frame.evaluate<{ lines: string[]; names: string[] }>(measuring())
  for (const name of names) passed.add(name)
  return lines
}

/**
 * Whether links within text may differ from it by their colour alone, of which each theme decides
 * for itself.
 */
export const hasPlainLinks = `(() => {
  const lineOf = (one) => getComputedStyle(one).textDecorationLine
  const blockOf = (one) => (/^(inline|contents)$/.test(getComputedStyle(one).display) ? blockOf(one.parentElement) : one)
  const isOutside = (text) => text.data.trim() !== '' && !text.parentElement.closest('a')
  const isAmongWords = (block) => {
    const words = document.createTreeWalker(block, NodeFilter.SHOW_TEXT)
    while (words.nextNode()) if (isOutside(words.currentNode)) return true
    return false
  }
  return [...document.querySelectorAll('a[href]')].some((link) => {
    const block = blockOf(link)
    return block !== link && !(lineOf(link) === 'underline' && lineOf(block) === 'none') && isAmongWords(block)
  })
})()`
