{
  const form = document.getElementById('three-d-secure-form')
  const submit = () => {
    if (form) HTMLFormElement.prototype.submit.call(form)
  }
  const link = /** @type {HTMLAnchorElement} */ (document.getElementById('three-d-secure-continue'))
  /** @type {HTMLIFrameElement} */
  const frame = document.querySelector('iframe[name="three-d-secure-method"]')
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (performance.getEntriesByType('navigation'))
  let gone = false
  const goOn = (query = '') => {
    if (gone) return
    gone = true
    location.replace(link.href + query)
  }
  const isInside = window.top !== window
  window.addEventListener('message', ({ origin, source, data }) => {
    if (origin !== link.origin || !frame || source !== frame.contentWindow) return
    if (!data || data.type !== 'three-d-secure method returned') return
    if (isInside) window.parent.postMessage({ type: data.type, token: data.token }, '*')
    else goOn('?method=returned')
  })
  if (isInside) {
    link.hidden = true
    submit()
  } else if (entry && entry.type === 'back_forward') goOn()
  else {
    window.addEventListener('pageshow', (event) => {
      if (event.persisted) location.replace(link.href)
    })
    window.setTimeout(() => goOn('?method=late'), 10000)
    submit()
  }
}
