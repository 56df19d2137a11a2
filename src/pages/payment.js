// Functions that the scripts of the payment pages share. Each of them follows it in the page.

/** Posts the page's form. A field called `submit` would hide the form's own method. */
function submitForm() {
  HTMLFormElement.prototype.submit.call(document.getElementById('three-d-secure-form'))
}

/** A page that a browser kept and shows again would stand still. The reload hides why it came. */
function reloadWhenShownAgain() {
  window.addEventListener('pageshow', (event) => {
    if (!event.persisted) return
    history.replaceState({ ...history.state, shownAgain: true }, '')
    location.reload()
  })
}

function cameByBackButton() {
  const { shownAgain, ...state } = history.state || {}
  if (shownAgain) history.replaceState(state, '')
  const entries = window.performance ? performance.getEntriesByType('navigation') : []
  const [entry] = /** @type {PerformanceNavigationTiming[]} */ (entries)
  return shownAgain === true || (entry !== undefined && entry.type === 'back_forward')
}

const goOn = () => location.replace(location.href)

/**
 * Asks what the page would be now, and loads it when it would be another. Without an answer it asks
 * again.
 */
function watch(present = '', everyMs = 0) {
  const again = () => {
    window.setTimeout(look, everyMs)
  }
  const look = () => {
    fetch(`${location.pathname}/state${location.search}`, { cache: 'no-store' })
      .then((answer) => (answer.ok ? answer.text() : present))
      .then((state) => (state === present ? again() : goOn()), again)
  }
  again()
}
