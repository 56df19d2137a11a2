// Buttons that ask for a passkey: the answer goes into a field of their form, which is then sent.
{
  const { browserSupportsWebAuthn, startAuthentication, startRegistration } = /** @type {any} */ (window).SimpleWebAuthnBrowser
  /** @param {string} what */
  const answered = async (what) => {
    const asked = await fetch(`/passkey/${what}`, { method: 'POST', body: new URLSearchParams() })
    const optionsJSON = await asked.json()
    return what === 'add' ? startRegistration({ optionsJSON }) : startAuthentication({ optionsJSON })
  }
  for (const button of document.querySelectorAll('button')) {
    const { form, dataset, nextElementSibling: complaint } = button
    if (!dataset.passkey) continue
    button.hidden = !browserSupportsWebAuthn()
    button.addEventListener('click', () => {
      if (dataset.passkey === 'add' && !form.reportValidity()) return
      const send = (/** @type {object} */ answer) => {
        Object(form.elements)[dataset.into].value = JSON.stringify(answer)
        form.submit()
      }
      const complain = () => (complaint.textContent = 'No passkey was used. Try again, or choose another way.')
      answered(dataset.passkey).then(send, complain)
    })
  }
}
