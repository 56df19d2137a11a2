/**
 * The cards that the merchant knows, and the parts of the forms where one is chosen or typed.
 * @import { SavedCard } from './flow.js'
 */
import { all, byId, fieldOf, make } from './elements.js'

/** @type {SavedCard[]} */
let saved = []
let reading = 0

/** @param {string} clientCardId */
export const savedCard = (clientCardId) => saved.find((card) => card.clientCardId === clientCardId)

/** @param {() => Promise<SavedCard[]>} savedCards */
export async function readWallet(savedCards) {
  const mine = ++reading
  const cards = await savedCards()
  // A later reading knows more than this one.
  if (mine !== reading) return
  saved = cards
  byId('wallet-empty').hidden = saved.length > 0
  byId('wallet').replaceChildren(...saved.map(walletItem))
  for (const group of all('.saved')) offerSaved(group)
  for (const form of all('form[data-screen]')) typedOrSaved(form)
}

/** @param {SavedCard} card */
const nameOf = ({ masked, clientCardId }) => masked ?? `Card ${clientCardId.slice(0, 8)}`

/** @param {SavedCard} card */
function walletItem(card) {
  const only = card.pays ? '' : 'can be sent money · '
  return make('li', {}, nameOf(card), make('small', {}, `${only}clientCardId ${card.clientCardId}`))
}

/** @param {HTMLElement} group */
function offerSaved(group) {
  const { name } = group.dataset
  const isSource = name === 'source'
  const offered = saved.filter(({ pays }) => pays || !isSource)
  const first = isSource ? offered[0]?.clientCardId : undefined
  const form = group.closest('form')
  const was = fieldOf(form, name).value
  // Whoever is at the form already keeps what was chosen there.
  const isKept = !form.hidden && group.children.length > 0
  group.replaceChildren(
    ...offered.map((card) => {
      const radio = make('input', { type: 'radio', name, value: card.clientCardId })
      return make('label', { className: 'option' }, radio, `${nameOf(card)} · ${card.clientCardId.slice(0, 4)}`)
    }),
  )
  fieldOf(form, name).value = isKept ? was : (first ?? '')
}

/**
 * For a saved card only the security code is asked. What is not shown must not be filled in either.
 * @param {HTMLElement} form
 */
export function typedOrSaved(form) {
  for (const group of all('.source, .destination', form)) {
    /** @type {HTMLInputElement} */
    const chosen = group.querySelector('input[type=radio]:checked')
    const isSaved = (chosen?.value ?? '') !== ''
    /** @type {HTMLElement} */
    const typed = group.querySelector('.typed')
    typed.hidden = isSaved
    for (const input of typed.querySelectorAll('input')) input.disabled = isSaved
    /** @type {HTMLElement} */
    const alone = group.querySelector('.code-alone')
    if (alone) alone.hidden = !isSaved
  }
}
