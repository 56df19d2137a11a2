// Asks for the same page again while something may still come and takes over what is new: frames,
// open messages and the focus stay as they are. Without it the page reloads itself, and buttons
// take the place of what is done by itself here.
{
  const every = 350
  const methodWaitMs = 10_000
  /** @param {string} id */
  const byId = (id) => document.getElementById(id)
  const stage = () => byId('stage')
  let done = ''
  let follows = true
  for (const kind of ['wheel', 'touchmove', 'keydown', 'mousedown']) {
    addEventListener(
      kind,
      () => {
        follows = false
      },
      { passive: true },
    )
  }

  const tellBrowser = () => {
    const form = /** @type {HTMLFormElement} */ (byId('browser'))
    if (!form || form.dataset.reported) return
    form.dataset.reported = 'yes'
    const body = new URLSearchParams({
      browserJavascriptEnabled: 'true',
      browserJavaEnabled: String(navigator.javaEnabled()),
      browserLanguage: navigator.language,
      browserColorDepth: String(screen.colorDepth),
      browserScreenWidth: String(screen.width),
      browserScreenHeight: String(screen.height),
      browserTZ: String(new Date().getTimezoneOffset()),
    })
    fetch(form.action, { method: 'POST', body }).catch(() => {
      delete form.dataset.reported
    })
  }

  const act = () => {
    const { step } = stage().dataset
    if (step === done) return
    done = step
    const tellUnlessOver = () => {
      if (stage().dataset.step === step) tellBrowser()
    }
    if (step.startsWith('method')) setTimeout(tellUnlessOver, methodWaitMs)
    const away = /** @type {HTMLAnchorElement} */ (byId('away'))
    // Once only, so that the way back is open.
    if (away && !(history.state && history.state.left)) {
      history.replaceState({ left: true }, '')
      setTimeout(() => location.assign(away.href), 900)
    }
  }

  addEventListener('message', (event) => {
    if (event.origin === location.origin && event.data === 'three-d-secure method returned') tellBrowser()
  })

  /** @param {Document} next */
  const showSteps = (next) => {
    const list = byId('steps')
    // These lists stay as they are while their elements move, which `children` would not.
    for (const old of list.querySelectorAll(':scope > li')) if (!next.getElementById(old.id)) old.remove()
    /** @type {NodeListOf<HTMLElement>} */
    const wanted = next.querySelectorAll('#steps > li')
    let before = list.firstElementChild
    /** @type {HTMLElement} */
    let fresh
    for (const one of wanted) {
      const old = byId(one.id)
      if (old && old.dataset.key !== one.dataset.key) {
        old.dataset.key = one.dataset.key
        old.querySelector('.name').replaceWith(document.adoptNode(one.querySelector('.name')))
      }
      if (!old) {
        fresh = document.adoptNode(one)
        fresh.classList.add('fresh')
        list.insertBefore(fresh, before)
      } else if (old === before) before = old.nextElementSibling
      else list.insertBefore(old, before)
    }
    if (fresh && follows && matchMedia('(min-width: 60.1rem)').matches) list.lastElementChild.scrollIntoView({ block: 'nearest' })
  }

  /** @param {string} page */
  const show = (page) => {
    // The rest has a style and a script of another nonce, which this page's policy would complain
    // about.
    const text = page.slice(page.indexOf('<main'), page.indexOf('</main>'))
    const next = new DOMParser().parseFromString(text, 'text/html')
    const { revision, title, settled } = next.getElementById('order').dataset
    byId('order').dataset.revision = revision
    if (settled !== undefined) byId('order').dataset.settled = ''
    document.title = title
    const state = next.getElementById('state')
    if (state.innerHTML !== byId('state').innerHTML) byId('state').replaceChildren(...state.childNodes)
    const newStage = next.getElementById('stage')
    if (newStage.dataset.step !== stage().dataset.step) stage().replaceWith(document.adoptNode(newStage))
    else if (byId('reported')) byId('reported').textContent = next.getElementById('reported').textContent
    byId('summary').textContent = next.getElementById('summary').textContent
    showSteps(next)
    act()
  }

  const refresh = async () => {
    try {
      const reply = await fetch(location.href, {
        headers: { 'if-none-match': byId('order').dataset.revision },
        cache: 'no-store',
        signal: AbortSignal.timeout(5_000),
      })
      if (reply.status === 200) show(await reply.text())
    } catch {
      // The next one may find the server again.
    }
  }

  const stayLive = async () => {
    let pauseMs = every
    do {
      await new Promise((resolve) => setTimeout(resolve, pauseMs))
      await refresh()
      pauseMs = document.hidden ? 2_000 : every
    } while (byId('order').dataset.settled === undefined)
  }

  act()
  void stayLive()
}
