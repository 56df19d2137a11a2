// The box of the search lists what is found while one types; the page of the search lists it all.
import MiniSearch from 'minisearch'

/** @typedef {{ id: string, heading: string, page: string, begins: string }} Hit */
/** @typedef {(slug: string) => string} AddressOf */

const most = 8
const mostOnPage = 60

/**
 * @param {string} index
 * @param {AddressOf} addressOf
 */
export function openSearch(index, addressOf) {
  const form = /** @type {HTMLFormElement} */ (document.querySelector('form.find'))
  const input = /** @type {HTMLInputElement} */ (form.elements.namedItem('q'))
  const list = listFor(form, input)
  /** @type {Promise<MiniSearch> | undefined} */
  let opened
  /** @type {(text: string) => Promise<Hit[]>} */
  const find = async (text) => {
    opened ??= load(index)
    return /** @type {any} */ ((await opened).search(text))
  }
  let at = -1
  const mark = () => {
    const options = [...list.children]
    list.hidden = options.length === 0
    input.ariaExpanded = String(!list.hidden)
    for (const [i, one] of options.entries()) one.ariaSelected = String(i === at)
    if (at < 0) return input.removeAttribute('aria-activedescendant')
    input.setAttribute('aria-activedescendant', options[at].id)
    options[at].scrollIntoView({ block: 'nearest' })
  }
  /** @param {Hit[]} hits */
  const show = (hits) => {
    at = -1
    list.replaceChildren(...hits.slice(0, most).map((hit, i) => option(hit, i, addressOf)))
    mark()
  }
  input.addEventListener('input', () => {
    const text = input.value
    if (text.trim() === '') show([])
    else void find(text).then((hits) => input.value === text && show(hits))
  })
  input.addEventListener('keydown', (event) => {
    const count = list.children.length
    if (event.key === 'Escape') show([])
    else if (count > 0 && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
      at = event.key === 'ArrowDown' ? (at + 1) % count : (at + (at < 0 ? count : count - 1)) % count
      mark()
    } else if (event.key === 'Enter' && at >= 0) location.assign(list.children[at].querySelector('a').href)
    else return
    event.preventDefault()
  })
  form.addEventListener('focusout', ({ relatedTarget }) => {
    if (!form.contains(/** @type {Node | null} */ (relatedTarget))) show([])
  })
  void showAll(input, find, addressOf)
}

/** @param {string} index */
async function load(index) {
  const { options, index: packed } = await (await fetch(index)).json()
  return MiniSearch.loadJS(packed, options)
}

/**
 * @param {HTMLFormElement} form
 * @param {HTMLInputElement} input
 */
function listFor(form, input) {
  const list = document.createElement('ul')
  Object.assign(list, { className: 'plain found panel', id: 'hits', role: 'listbox', ariaLabel: 'Found', hidden: true })
  form.append(list)
  Object.assign(input, { role: 'combobox', ariaExpanded: 'false', ariaAutoComplete: 'list' })
  input.setAttribute('aria-controls', list.id)
  document.addEventListener('keydown', (event) => {
    const { target } = event
    if (event.key !== '/' || (target instanceof Element && target.closest('input, textarea, select'))) return
    event.preventDefault()
    input.focus()
  })
  return list
}

/**
 * @param {Hit} hit
 * @param {number} i
 * @param {AddressOf} addressOf
 */
function option(hit, i, addressOf) {
  const one = document.createElement('li')
  const link = linkOf(hit, addressOf)
  Object.assign(one, { id: `hit-${i}`, role: 'option' })
  link.tabIndex = -1
  one.append(link)
  return one
}

/**
 * @param {Hit} hit
 * @param {AddressOf} addressOf
 */
function linkOf({ id, heading, page }, addressOf) {
  const link = document.createElement('a')
  link.href = addressOf(id)
  link.append(element('b', '', heading), ' ', element('span', 'quiet', page))
  return link
}

/**
 * @param {string} name
 * @param {string} className
 * @param {string} text
 */
const element = (name, className, text) => Object.assign(document.createElement(name), { className, textContent: text })

/**
 * @param {HTMLInputElement} input
 * @param {(text: string) => Promise<Hit[]>} find
 * @param {AddressOf} addressOf
 */
async function showAll(input, find, addressOf) {
  const found = document.querySelector('#found')
  const wanted = new URLSearchParams(location.search).get('q') ?? ''
  if (!found || wanted === '') return
  input.value = wanted
  const hits = await find(wanted)
  const places = hits.length === 1 ? 'One place has' : `${hits.length} places have`
  const said = hits.length === 0 ? `Nothing here has “${wanted}” in it.` : `${places} “${wanted}” in it.`
  const list = element('ol', 'plain hits', '')
  for (const hit of hits.slice(0, mostOnPage)) {
    const one = document.createElement('li')
    one.append(linkOf(hit, addressOf), element('p', 'quiet', hit.begins))
    list.append(one)
  }
  found.replaceChildren(element('p', 'lead', said), list)
  document.querySelector('#headings').toggleAttribute('hidden', true)
}
