// Sends what a form says, and shows the answer beneath it.
{
  /** @param {HTMLFormElement} form */
  const answerTo = async (form) => {
    const { method, path } = form.dataset
    const body = form.querySelector('textarea')?.value
    const sent = body === undefined ? {} : { body, headers: { 'content-type': 'application/json' } }
    const reply = await fetch(path, { method, ...sent })
    return `${reply.status} ${await reply.text()}`
  }

  for (const form of document.forms) {
    const output = form.querySelector('output')
    form.addEventListener('submit', (event) => {
      event.preventDefault()
      output.textContent = '…'
      void answerTo(form)
        .catch(String)
        .then((text) => {
          output.textContent = text
        })
    })
  }
}
