// Shows the issuer in a frame of the largest size that fits, else in the whole window. The choice
// is kept with the entry in the browser's history: after a reload the issuer gets an identical
// CReq. The whole window is left once the page is loaded: before that it would not be kept in the
// history, and "back" would skip it. Either may come to nothing (an issuer that refuses to be
// framed, or answers with its app), so the page looks by itself as well, and keeps a way to the
// bank.
{
  reloadWhenShownAgain()
  const form = /** @type {HTMLFormElement} */ (document.getElementById('three-d-secure-form'))
  const creq = /** @type {HTMLInputElement} */ (form.elements.namedItem('creq'))
  const wholeCreq = creq.value
  const place = document.getElementById('bank')
  const frame = place.querySelector('iframe')
  const whole = document.getElementById('whole-window')
  const doing = document.querySelector('.doing')

  /**
   * The line stays, so that nothing moves under the finger of whoever is about to press.
   * @param {'asks' | 'back'} what
   * @param {boolean} turning
   */
  const tell = (what, turning) => {
    const spinner = /** @type {HTMLElement} */ (doing.firstElementChild)
    spinner.hidden = !turning
    doing.lastElementChild.textContent = place.dataset[what]
  }

  const keep = (size = '') => history.replaceState({ challengeWindow: size }, '')

  const offer = () => {
    place.hidden = true
    tell('asks', false)
    document.getElementById('continue').hidden = false
  }

  const inWhole = () => {
    keep('05')
    creq.value = wholeCreq
    form.target = '_self'
    place.hidden = true
    whole.hidden = true
    submitForm()
    window.setTimeout(offer, 3000)
  }

  /** @typedef {[size: string, width: number, height: number, creq: string]} Framed */
  /** @param {Framed} window */
  const inFrame = ([size, width, height, framedCreq]) => {
    keep(size)
    Object.assign(frame, { width, height })
    creq.value = framedCreq
    form.target = frame.name
    whole.hidden = false
    frame.addEventListener('load', () => {
      tell('asks', false)
      if (document.activeElement === document.body) frame.focus({ preventScroll: true })
    })
    window.addEventListener('message', (event) => {
      if (event.origin !== location.origin || event.source !== frame.contentWindow) return
      const isOver = event.data && event.data.type === 'three-d-secure challenge returned'
      if (!isOver || event.data.token !== place.dataset.token) return
      place.remove()
      whole.hidden = true
      tell('back', true)
      goOn()
    })
    whole.querySelector('button').addEventListener('click', inWhole)
    submitForm()
  }

  place.hidden = false
  const kept = history.state && history.state.challengeWindow
  const windows = /** @type {Framed[]} */ (JSON.parse(place.dataset.windows))
  const fitting = windows.filter(([, width, height]) => place.clientWidth >= width && window.innerHeight >= height)
  const chosen = kept === '05' ? undefined : fitting.find(([size]) => size === kept) || fitting[0]
  if (chosen) inFrame(chosen)
  else if (cameByBackButton()) offer()
  else window.addEventListener('load', () => window.setTimeout(inWhole))
  watch('challenge', 3000)
}
