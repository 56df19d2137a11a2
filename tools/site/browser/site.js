// What the pages of the documents can do where scripts run: search, tabs of samples, copies.
import { openSearch } from './search.js'

const { index, page } = document.body.dataset
openSearch(index, (slug) => {
  const [path, anchor] = slug.split('#')
  return page.replace('*', path) + (anchor === undefined ? '' : `#${anchor}`)
})
for (const pre of document.querySelectorAll('pre')) addCopy(pre)
for (const first of document.querySelectorAll('.sample:not(.sample + .sample)')) makeTabs(first)
// What does not scroll needs no stop of the keyboard.
for (const one of document.querySelectorAll('pre[tabindex], .rows[tabindex]'))
  if (one.scrollWidth <= one.clientWidth && one.scrollHeight <= one.clientHeight && one.clientWidth > 0)
    one.removeAttribute('tabindex')

/** @param {HTMLPreElement} pre */
function addCopy(pre) {
  const button = document.createElement('button')
  Object.assign(button, { className: 'copy', type: 'button', textContent: 'Copy' })
  button.addEventListener('click', () => {
    void navigator.clipboard.writeText(pre.textContent.trim()).then(() => (button.textContent = 'Copied'))
    setTimeout(() => (button.textContent = 'Copy'), 2_000)
  })
  const around = document.createElement('div')
  around.className = 'code'
  pre.replaceWith(around)
  around.append(pre, button)
}

/**
 * Of samples that follow one another one is shown: that of the language that was chosen last.
 * @param {Element} first
 */
function makeTabs(first) {
  const samples = [/** @type {HTMLElement} */ (first)]
  for (let next = first.nextElementSibling; next?.matches('.sample'); next = next.nextElementSibling)
    samples.push(/** @type {HTMLElement} */ (next))
  if (samples.length < 2) return
  const list = document.createElement('div')
  Object.assign(list, { className: 'tabs chips', role: 'tablist', ariaLabel: 'Language' })
  const tabs = samples.map((sample) => {
    const tab = document.createElement('button')
    const { language } = sample.dataset
    Object.assign(tab, { type: 'button', role: 'tab', textContent: language })
    tab.addEventListener('click', () => {
      localStorage.setItem('language', language)
      for (const one of document.querySelectorAll('.tabs')) choose(one, language)
    })
    Object.assign(sample, { role: 'tabpanel', ariaLabel: language })
    list.append(tab)
    return tab
  })
  list.addEventListener('keydown', ({ key }) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[key]
    const at = tabs.findIndex((tab) => tab === document.activeElement)
    const next = tabs[(at + (step ?? 0) + tabs.length) % tabs.length]
    if (step === undefined) return
    next.focus()
    next.click()
  })
  first.before(list)
  choose(list, localStorage.getItem('language') ?? 'TypeScript')
}

/**
 * @param {Element} list
 * @param {string} language
 */
function choose(list, language) {
  const tabs = [...list.querySelectorAll('button')]
  const at = tabs.findIndex((tab) => tab.textContent === language)
  let sample = list.nextElementSibling
  for (const [i, tab] of tabs.entries()) {
    const isChosen = i === Math.max(at, 0)
    tab.ariaSelected = String(isChosen)
    tab.tabIndex = isChosen ? 0 : -1
    sample.toggleAttribute('hidden', !isChosen)
    sample = sample.nextElementSibling
  }
}
