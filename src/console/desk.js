// What is live follows the server, and keys lead to places. Without script all of it is links.

for (const place of document.querySelectorAll('[data-live]')) {
  const source = new EventSource(place.getAttribute('data-live'))
  const details = () => [...place.querySelectorAll('details')]
  source.addEventListener('message', ({ data }) => {
    const open = details().map((one) => one.open)
    place.innerHTML = data
    details().forEach((one, i) => (one.open = open[i] ?? false))
  })
  source.addEventListener('over', () => source.close())
}

const help = /** @type {HTMLDialogElement} */ (document.getElementById('keys'))
let before = ''
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  const last = before
  before = event.key
  if (last === 'g') return /** @type {HTMLElement} */ (document.querySelector(`[data-go="${CSS.escape(event.key)}"]`))?.click()
  if (event.key === '?') help.showModal()
  if (event.key !== '/') return
  event.preventDefault()
  document.getElementById('what').focus()
})
