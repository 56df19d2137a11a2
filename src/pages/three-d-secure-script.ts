import { postFormId } from '../three-d-secure/forms.ts'

/** What the frame with the method's notification tells the page around it. */
const methodMessage = 'three-d-secure method returned'

/** Ids that markup and scripts share. */
export const browserFormId = 'browser'
export const methodReturnedId = 'method-returned'

// Each script is a block: a browser has globals of its own, `origin` among them.

/** Posts the page's form; after `data-after-ms`, where there is something to read first. A field called `submit` would hide the form's own method. */
export const submitScript = `{
const form = document.getElementById('${postFormId}')
const submit = () => HTMLFormElement.prototype.submit.call(form)
const wait = document.querySelector('[data-after-ms]')
if (wait) window.setTimeout(submit, Number(wait.dataset.afterMs))
else submit()
}`

/**
 * Runs the method, if there is a form for it, and posts what the browser says of itself when the method came back or its time is over. A message counts
 * only from this origin and from the frame itself: any window may send one.
 */
export const methodScript = `{
const browser = document.getElementById('${browserFormId}')
const method = document.getElementById('${postFormId}')
const frame = document.querySelector('iframe')
const put = (name, value) => { browser.elements.namedItem(name).value = String(value) }
let sent = false
function send(returned) {
  if (sent) return
  sent = true
  put('methodReturned', returned)
  put('javascriptEnabled', true)
  put('javaEnabled', typeof navigator.javaEnabled === 'function' && navigator.javaEnabled() === true)
  put('language', navigator.language || '')
  put('colorDepth', screen.colorDepth)
  put('screenHeight', Math.round(screen.height))
  put('screenWidth', Math.round(screen.width))
  put('timeZone', Math.round(new Date().getTimezoneOffset()))
  browser.submit()
}
if (method && frame) {
  window.addEventListener('message', (event) => {
    if (event.origin !== location.origin || event.source !== frame.contentWindow) return
    if (event.data && event.data.type === '${methodMessage}' && event.data.token === browser.dataset.token) send(true)
  })
  window.setTimeout(() => send(false), Number(browser.dataset.waitMs))
  method.submit()
} else send(false)
}`

/** Inside the frame: tells the page around it, and nobody else, that the method came back. The page carries no data but the token of its address. */
export const returnedScript = `{
const { origin, token } = document.getElementById('${methodReturnedId}').dataset
if (window.parent !== window) window.parent.postMessage({ type: '${methodMessage}', token }, origin)
}`
