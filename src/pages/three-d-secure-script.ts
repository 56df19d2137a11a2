import { methodMessage, postFormId } from '../three-d-secure/forms.ts'

/** What the frame reports to the page around it when the challenge is over. */
const challengeMessage = 'three-d-secure challenge returned'

/** Ids that markup and scripts share. */
export const browserFormId = 'browser'
export const methodReturnedId = 'method-returned'
export const challengeReturnedId = 'challenge-returned'
export const placeId = 'bank'
export const wholeWindowId = 'whole-window'
export const continueId = 'continue'

// Each script is a block: a browser has globals of its own, `origin` among them.

/** A page that a browser kept and shows again would stand still. */
const awake = `
window.addEventListener('pageshow', (event) => { if (event.persisted) location.reload() })
const [entry] = window.performance ? performance.getEntriesByType('navigation') : []
const byBack = entry !== undefined && entry.type === 'back_forward'`

const submitting = `
const form = document.getElementById('${postFormId}')
const submit = () => HTMLFormElement.prototype.submit.call(form)`

/** Posts the page's form. A field called `submit` would hide the form's own method. */
export const submitScript = `{
${submitting}
submit()
}`

/**
 * Posts the page's form; after `data-after-ms`, where there is something to read first. Who comes here by the back button wants to go back, and is not sent forward again: there
 * is a button.
 */
export const returnScript = `{
${awake}
${submitting}
const wait = document.querySelector('[data-after-ms]')
if (wait) window.setTimeout(submit, Number(wait.dataset.afterMs))
else if (!byBack) submit()
}`

/**
 * Runs the method, if there is a form for it, and posts what the browser says of itself when the
 * method came back or its time is over. A message counts only from this origin and from the frame
 * itself: any window may send one. Where the gateway does not know the browser yet, it is described
 * as the method begins: should this page be gone when the time is over, the gateway goes on by
 * itself.
 */
export const methodScript = `{
const browser = document.getElementById('${browserFormId}')
const method = document.getElementById('${postFormId}')
const frame = document.querySelector('iframe')
const put = (name, value) => { browser.elements.namedItem(name).value = String(value) }
put('javascriptEnabled', true)
put('javaEnabled', typeof navigator.javaEnabled === 'function' && navigator.javaEnabled() === true)
put('language', navigator.language || '')
put('colorDepth', screen.colorDepth)
put('screenHeight', Math.round(screen.height))
put('screenWidth', Math.round(screen.width))
put('timeZone', Math.round(new Date().getTimezoneOffset()))
let sent = false
function send(returned) {
  if (sent) return
  sent = true
  put('methodReturned', returned)
  browser.submit()
}
// Whether it arrives matters only to whoever closes the page.
function begin(path, accept) {
  const body = new URLSearchParams(new FormData(browser))
  fetch(path, { method: 'POST', keepalive: true, headers: { accept }, body }).catch(() => {})
}
const { begun, accept, token, waitMs, returned } = browser.dataset
if (method && frame) {
  window.addEventListener('message', (event) => {
    if (event.origin !== location.origin || event.source !== frame.contentWindow) return
    if (event.data && event.data.type === '${methodMessage}' && event.data.token === token) send(true)
  })
  window.setTimeout(() => send(false), Number(waitMs))
  if (begun) begin(begun, accept)
  method.submit()
} else send(returned === 'true')
}`

/**
 * Inside the frame: reports to the page around it that the method came back. That page is the
 * gateway's, or one that a merchant printed, of whatever origin. The message says nothing that the
 * page does not know: whoever made this frame had to have the token.
 */
export const methodReturnedScript = `{
const { token } = document.getElementById('${methodReturnedId}').dataset
if (window.parent !== window) window.parent.postMessage({ type: '${methodMessage}', token }, '*')
}`

/**
 * Inside the frame: reports to the gateway's page around it, and nobody else, that the browser came
 * back. The page carries no data but the token of its address.
 */
export const challengeReturnedScript = `{
const { origin, token } = document.getElementById('${challengeReturnedId}').dataset
const around = location.ancestorOrigins
// In a page of the merchant's nobody listens, and browsers would complain of a message that finds
// no one.
const ours = !around || around[0] === origin
if (window.parent !== window && ours) window.parent.postMessage({ type: '${challengeMessage}', token }, origin)
}`

/** Asks what the page would be now, and loads it when it would be another. Without an answer it asks again. */
const watching = `
const goOn = () => location.replace(location.href)
function watch(present, everyMs) {
  const again = () => window.setTimeout(look, everyMs)
  const look = () => fetch(location.pathname + '/state' + location.search, { cache: 'no-store' })
    .then((answer) => (answer.ok ? answer.text() : present))
    .then((state) => (state === present ? again() : goOn()), again)
  again()
}`

/** The address remembers since when this browser waits, through every reload. */
export const workingScript = `{
${watching}
const { since } = document.querySelector('[data-since]').dataset
history.replaceState(history.state, '', '?since=' + since)
watch('working', 500)
}`

/**
 * Shows the issuer in a frame of the largest size that fits, else in the whole window. The choice is kept with the entry in the browser's history: after a reload the issuer gets
 * an identical CReq. The whole window is left once the page is loaded: before that it would not be kept in the history, and "back" would skip it. What happens in the frame may come
 * to nothing (an issuer that refuses to be framed, an app that confirmed), so the page looks by itself as well.
 */
export const challengeScript = `{
${awake}
${submitting}
${watching}
const place = document.getElementById('${placeId}')
const frame = place.querySelector('iframe')
const whole = document.getElementById('${wholeWindowId}')
const doing = document.querySelector('.doing')
// The line stays where it is, so that nothing moves under the finger of whoever is about to press.
const tell = (what, turning) => {
  doing.firstElementChild.hidden = !turning
  doing.lastElementChild.textContent = place.dataset[what]
}
const keep = (size) => history.replaceState({ challengeWindow: size }, '')
const wholeCreq = form.elements.namedItem('creq').value
function inFrame([size, width, height, creq]) {
  keep(size)
  Object.assign(frame, { width, height })
  form.elements.namedItem('creq').value = creq
  form.target = frame.name
  whole.hidden = false
  frame.addEventListener('load', () => {
    tell('asks', false)
    if (document.activeElement === document.body) frame.focus({ preventScroll: true })
  })
  window.addEventListener('message', (event) => {
    if (event.origin !== location.origin || event.source !== frame.contentWindow) return
    if (!event.data || event.data.type !== '${challengeMessage}' || event.data.token !== place.dataset.token) return
    place.remove()
    whole.hidden = true
    tell('back', true)
    goOn()
  })
  whole.querySelector('button').addEventListener('click', inWhole)
  submit()
  watch('challenge', 3000)
}
function inWhole() {
  keep('05')
  form.elements.namedItem('creq').value = wholeCreq
  form.target = '_self'
  place.hidden = true
  submit()
}
place.hidden = false
const kept = history.state && history.state.challengeWindow
const fitting = JSON.parse(place.dataset.windows).filter(([, width, height]) => place.clientWidth >= width && window.innerHeight >= height)
const chosen = kept === '05' ? undefined : fitting.find(([size]) => size === kept) || fitting[0]
if (chosen) inFrame(chosen)
else if (byBack) {
  place.hidden = true
  tell('asks', false)
  document.getElementById('${continueId}').hidden = false
} else window.addEventListener('load', () => window.setTimeout(inWhole))
}`
