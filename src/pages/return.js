// Posts the page's form; after `data-after-ms`, where there is something to read first. Whoever
// comes here by the back button wants to go back and is not sent forward again: there is a button.
{
  reloadWhenShownAgain()
  /** @type {HTMLElement} */
  const going = document.querySelector('.scripted')
  if (cameByBackButton()) going.hidden = true
  else if (going.dataset.afterMs) window.setTimeout(submitForm, Number(going.dataset.afterMs))
  else submitForm()
}
