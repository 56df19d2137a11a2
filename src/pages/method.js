// Runs the method, if there is a form for it, and posts what the browser says of itself when the
// method came back or its time is over. A message counts only from this origin and from the frame
// itself: any window may send one. Where the gateway does not know the browser yet, it is described
// as the method begins: should this page be gone when the time is over, the gateway goes on by
// itself.
{
  reloadWhenShownAgain()
  const browser = /** @type {HTMLFormElement} */ (document.getElementById('browser'))
  const method = /** @type {HTMLFormElement} */ (document.getElementById('three-d-secure-form'))
  const frame = document.querySelector('iframe')
  /** @param {string} name @param {unknown} value */
  const put = (name, value) => {
    const field = /** @type {HTMLInputElement} */ (browser.elements.namedItem(name))
    field.value = String(value)
  }
  put('javascriptEnabled', true)
  put('javaEnabled', typeof navigator.javaEnabled === 'function' && navigator.javaEnabled())
  put('language', navigator.language || '')
  put('colorDepth', screen.colorDepth)
  put('screenHeight', Math.round(screen.height))
  put('screenWidth', Math.round(screen.width))
  put('timeZone', Math.round(new Date().getTimezoneOffset()))
  let sent = false
  /** @param {boolean} returned */
  const send = (returned) => {
    if (sent) return
    sent = true
    put('methodReturned', returned)
    browser.submit()
  }
  const { begun, accept, token, waitMs, returned } = browser.dataset
  // Whether it arrives matters only to whoever closes the page.
  const begin = () => {
    // The compiler thinks of files, of which there are none.
    const fields = /** @type {any} */ (new FormData(browser))
    const body = new URLSearchParams(fields)
    fetch(begun, { method: 'POST', keepalive: true, headers: { accept }, body }).catch(() => {})
  }
  if (method && frame) {
    window.addEventListener('message', (event) => {
      if (event.origin !== location.origin || event.source !== frame.contentWindow) return
      if (event.data && event.data.type === 'three-d-secure method returned' && event.data.token === token) send(true)
    })
    window.setTimeout(() => send(false), Number(waitMs))
    if (begun) begin()
    method.submit()
  } else send(returned === 'true')
}
