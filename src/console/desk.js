// What is live follows the server, keys lead to places, ids can be copied. Without script all of it
// is links and text.

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

/** Such as 1000001 or c05ba853-ba4a-480e, as the last word of a text; no amount, no plain word. */
const id = /^(?=[^\d]*\d)[\w-]{6,}$/
for (const place of document.querySelectorAll('h1, .facts dd, td')) {
  const text = place.textContent.trim().split(/\s+/).at(-1)
  if (!navigator.clipboard || !id.test(text)) continue
  const button = document.createElement('button')
  button.className = 'link copy'
  button.textContent = 'Copy'
  button.ariaLabel = `Copy ${text}`
  // A list would have one for each row; the page of what a row is about has it for keys too.
  button.tabIndex = place.matches('td') ? -1 : 0
  const copied = () => (button.textContent = button.ariaLabel = 'Copied')
  button.addEventListener('click', () => void navigator.clipboard.writeText(text).then(copied))
  place.append(' ', button)
}

const exactTimes = () => document.querySelectorAll('time > span').forEach(({ classList }) => classList.toggle('unseen'))
for (const time of document.querySelectorAll('time')) time.addEventListener('click', exactTimes)

const help = /** @type {HTMLDialogElement} */ (document.getElementById('keys'))
let before = ''
document.addEventListener('keydown', (event) => {
  const isTyping = event.target instanceof Element && event.target.closest('input, textarea, select') !== null
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return
  const last = before
  before = event.key
  if (last === 'g') return /** @type {HTMLElement} */ (document.querySelector(`[data-go="${CSS.escape(event.key)}"]`))?.click()
  if (event.key === '?') help.showModal()
  if (event.key === 't') exactTimes()
  if (event.key !== '/') return
  event.preventDefault()
  document.getElementById('find').focus()
})
