// The address remembers since when this browser waits, through every reload.
{
  reloadWhenShownAgain()
  /** @type {HTMLElement} */
  const waiting = document.querySelector('[data-since]')
  history.replaceState(history.state, '', `?since=${waiting.dataset.since}`)
  watch('working', 500)
}
