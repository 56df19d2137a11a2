/**
 * The script of the page. Without it everything can be read: the page then reloads itself, and a click on an identifier selects it.
 * It asks for the same page again every two seconds with the revision it has, so that nothing is sent while nothing comes;
 * what is open, focused or being selected stays as it is.
 */
export const pageScript = `
'use strict'
const state = document.getElementById('state')
const stateText = state.innerHTML
const byId = (id) => document.getElementById(id)
let ahead = Date.now() - Number(byId('live').dataset.now)

function relative(elapsedMs) {
  const seconds = Math.max(0, Math.floor(elapsedMs / 1000))
  if (seconds < 60) return seconds + ' s ago'
  if (seconds < 3600) return Math.floor(seconds / 60) + ' min ago'
  return seconds < 86400 ? Math.floor(seconds / 3600) + ' h ago' : Math.floor(seconds / 86400) + ' d ago'
}

function tellTimes() {
  const now = Date.now() - ahead
  for (const time of document.querySelectorAll('time')) time.textContent = relative(now - Date.parse(time.dateTime))
}

function makeCopyable() {
  for (const one of document.querySelectorAll('.copy:not([role])')) {
    one.setAttribute('role', 'button')
    one.tabIndex = 0
    one.title = 'Click to copy' + (one.title ? ': ' + one.title : '')
  }
}

async function copy(one) {
  const range = document.createRange()
  range.selectNodeContents(one)
  getSelection().removeAllRanges()
  getSelection().addRange(range)
  try {
    await navigator.clipboard.writeText(one.textContent)
    getSelection().removeAllRanges()
    one.classList.add('copied')
    setTimeout(() => one.classList.remove('copied'), 1200)
  } catch { /* it stays selected, to be copied by hand */ }
}

addEventListener('click', (event) => {
  const one = event.target.closest('.copy')
  if (one && getSelection().toString().length <= one.textContent.length) copy(one)
})
addEventListener('keydown', (event) => {
  const one = event.target.closest('.copy')
  if (!one || (event.key !== 'Enter' && event.key !== ' ')) return
  event.preventDefault()
  copy(one)
})

function show(page) {
  const main = page.slice(page.indexOf('<main>'), page.indexOf('</main>'))
  const next = new DOMParser().parseFromString(main, 'text/html').getElementById('live')
  const live = byId('live')
  const focused = live.contains(document.activeElement) ? document.activeElement : null
  for (const row of next.querySelectorAll('tbody')) {
    const old = byId(row.id)
    if (old) row.replaceWith(old)
    else row.classList.add('fresh')
  }
  ahead = Date.now() - Number(next.dataset.now)
  live.replaceWith(document.adoptNode(next))
  if (focused && focused.isConnected) focused.focus({ preventScroll: true })
  makeCopyable()
}

async function refresh() {
  if (document.hidden || !getSelection().isCollapsed) return
  try {
    const reply = await fetch(location.href, { headers: { 'if-none-match': byId('live').dataset.revision }, cache: 'no-store', signal: AbortSignal.timeout(5000) })
    if (reply.status === 200) show(await reply.text())
    if (state.classList.contains('lost')) state.innerHTML = stateText
    state.classList.remove('lost')
  } catch {
    if (!state.classList.contains('lost')) state.textContent = 'This server does not answer. Below is what it said last; the page tries again by itself.'
    state.classList.add('lost')
  }
}

makeCopyable()
async function live() {
  await refresh()
  tellTimes()
  setTimeout(live, 2000)
}
setTimeout(live, 2000)
`
