/** What the frames tell the page around them. */
export const methodMessage = 'three-d-secure method returned'

/**
 * The script of an order's page. It asks for the same page again while something may still come and takes over what is new: frames, open messages
 * and the focus stay as they are. Without it the page reloads itself, and buttons take the place of what is done by itself here.
 */
export const orderScript = `{
const every = 350
const methodWaitMs = 10000
const byId = (id) => document.getElementById(id)
const stage = () => byId('stage')
let done = ''
let follows = true
for (const kind of ['wheel', 'touchmove', 'keydown', 'mousedown']) addEventListener(kind, () => { follows = false }, { passive: true })

function tellBrowser() {
  const form = byId('browser')
  if (!form || form.dataset.told) return
  form.dataset.told = 'yes'
  const body = new URLSearchParams({
    browserJavascriptEnabled: 'true', browserJavaEnabled: String(navigator.javaEnabled()), browserLanguage: navigator.language,
    browserColorDepth: String(screen.colorDepth), browserScreenWidth: String(screen.width), browserScreenHeight: String(screen.height),
    browserTZ: String(new Date().getTimezoneOffset()),
  })
  fetch(form.action, { method: 'POST', body }).catch(() => { delete form.dataset.told })
}

function act() {
  const step = stage().dataset.step
  if (step === done) return
  done = step
  if (step.startsWith('method')) setTimeout(() => { if (stage().dataset.step === step) tellBrowser() }, methodWaitMs)
  const away = byId('away')
  // Once only, so that the way back is open.
  if (away && !(history.state && history.state.left)) {
    history.replaceState({ left: true }, '')
    setTimeout(() => location.assign(away.href), 900)
  }
}

addEventListener('message', (event) => {
  if (event.origin === location.origin && event.data === '${methodMessage}') tellBrowser()
})

function show(page) {
  // The rest has a style and a script of another nonce, which this page's policy would complain about.
  const next = new DOMParser().parseFromString(page.slice(page.indexOf('<main'), page.indexOf('</main>')), 'text/html')
  const main = next.getElementById('order')
  byId('order').dataset.revision = main.dataset.revision
  if ('settled' in main.dataset) byId('order').dataset.settled = ''
  document.title = main.dataset.title
  const newStage = next.getElementById('stage')
  if (newStage.dataset.step !== stage().dataset.step) stage().replaceWith(document.adoptNode(newStage))
  else if (byId('told')) byId('told').textContent = next.getElementById('told').textContent
  byId('summary').textContent = next.getElementById('summary').textContent
  const list = byId('steps')
  for (const old of [...list.children]) if (!next.getElementById(old.id)) old.remove()
  let before = list.firstElementChild
  let fresh
  for (const one of [...next.getElementById('steps').children]) {
    const old = byId(one.id)
    if (old && old.dataset.key !== one.dataset.key) {
      old.dataset.key = one.dataset.key
      old.querySelector('.name').replaceWith(document.adoptNode(one.querySelector('.name')))
    }
    if (!old) {
      fresh = document.adoptNode(one)
      fresh.classList.add('fresh')
      list.insertBefore(fresh, before)
    } else if (old === before) before = old.nextElementSibling
    else list.insertBefore(old, before)
  }
  if (fresh && follows && matchMedia('(min-width: 60.1rem)').matches) list.lastElementChild.scrollIntoView({ block: 'nearest' })
  act()
}

async function refresh() {
  try {
    const reply = await fetch(location.href, { headers: { 'if-none-match': byId('order').dataset.revision }, cache: 'no-store', signal: AbortSignal.timeout(5000) })
    if (reply.status === 200) show(await reply.text())
  } catch { /* The next one may find the server again. */ }
  if (!('settled' in byId('order').dataset)) setTimeout(refresh, document.hidden ? 2000 : every)
}

act()
setTimeout(refresh, every)
}`
