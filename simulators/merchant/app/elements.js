/** @param {string} id */
export const byId = (id) => document.getElementById(id)

/**
 * @param {string} selector
 * @param {ParentNode} [within]
 * @returns {HTMLElement[]}
 */
export function all(selector, within = document) {
  /** @type {NodeListOf<HTMLElement>} */
  const found = within.querySelectorAll(selector)
  return [...found]
}

/**
 * A field of a form; what goes by a group of radio buttons has a value as well.
 * @param {HTMLFormElement} form
 * @param {string} name
 */
export const fieldOf = (form, name) => /** @type {HTMLInputElement} */ (form.elements.namedItem(name))

/**
 * Children that are strings become text, never markup.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Partial<HTMLElementTagNameMap[K]>} properties
 * @param {...(Node | string)} children
 */
export function make(tag, properties, ...children) {
  const made = Object.assign(document.createElement(tag), properties)
  made.append(...children)
  return made
}

/** A row of facts. @param {string} name @param {string} value */
export const fact = (name, value) => make('div', {}, make('dt', {}, name), make('dd', {}, value))

/** @param {number} ms @returns {Promise<void>} */
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))

/** @returns {Response | undefined} */
export const noAnswer = () => undefined
