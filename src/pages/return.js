// Posts the page's form; after `data-after-ms`, where there is something to read first. Whoever
// comes here by the back button wants to go back and is not sent forward again: there is a button.
{
  reloadWhenShownAgain()
  /** @type {HTMLElement} */
  const wait = document.querySelector('[data-after-ms]')
  if (wait) window.setTimeout(submitForm, Number(wait.dataset.afterMs))
  else if (!cameByBackButton()) submitForm()
}
