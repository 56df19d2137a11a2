// Without this script everything can be read: the page then reloads itself, and a click on an
// identifier selects it. It asks for the same page again every two seconds with the revision it
// has, so that nothing is sent while nothing comes; what is open, focused or being selected stays
// as it is.
{
  /** @param {string} id */
  const byId = (id) => document.getElementById(id)
  const state = byId('state')
  const stateText = state.innerHTML
  let ahead = Date.now() - Number(byId('live').dataset.now)

  const relative = (elapsedMs = 0) => {
    const seconds = Math.max(0, Math.floor(elapsedMs / 1_000))
    if (seconds < 60) return `${seconds} s ago`
    if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ago`
    return seconds < 86_400 ? `${Math.floor(seconds / 3_600)} h ago` : `${Math.floor(seconds / 86_400)} d ago`
  }

  const tellTimes = () => {
    const now = Date.now() - ahead
    for (const time of document.querySelectorAll('time')) time.textContent = relative(now - Date.parse(time.dateTime))
  }

  const makeCopyable = () => {
    /** @type {NodeListOf<HTMLElement>} */
    const all = document.querySelectorAll('.copy:not([role])')
    for (const one of all) {
      one.setAttribute('role', 'button')
      one.tabIndex = 0
      one.title = `Click to copy${one.title ? `: ${one.title}` : ''}`
    }
  }

  /** @param {Event} event */
  const copyableOf = ({ target }) => (target instanceof Element ? target.closest('.copy') : null)

  /** @param {Element} one */
  const copy = async (one) => {
    const range = document.createRange()
    range.selectNodeContents(one)
    getSelection().removeAllRanges()
    getSelection().addRange(range)
    try {
      await navigator.clipboard.writeText(one.textContent)
      getSelection().removeAllRanges()
      one.classList.add('copied')
      setTimeout(() => one.classList.remove('copied'), 1_200)
    } catch {
      // It stays selected, to be copied by hand.
    }
  }

  addEventListener('click', (event) => {
    const one = copyableOf(event)
    if (one && getSelection().toString().length <= one.textContent.length) void copy(one)
  })
  addEventListener('keydown', (event) => {
    const one = copyableOf(event)
    if (!one || (event.key !== 'Enter' && event.key !== ' ')) return
    event.preventDefault()
    void copy(one)
  })

  /** @param {string} page */
  const show = (page) => {
    const main = page.slice(page.indexOf('<main>'), page.indexOf('</main>'))
    const next = new DOMParser().parseFromString(main, 'text/html').getElementById('live')
    const live = byId('live')
    const focused = live.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null
    for (const row of next.querySelectorAll('tbody')) {
      const old = byId(row.id)
      if (old) row.replaceWith(old)
      else row.classList.add('fresh')
    }
    ahead = Date.now() - Number(next.dataset.now)
    live.replaceWith(document.adoptNode(next))
    if (focused && focused.isConnected) focused.focus({ preventScroll: true })
    makeCopyable()
  }

  const refresh = async () => {
    if (document.hidden || !getSelection().isCollapsed) return
    try {
      const reply = await fetch(location.href, {
        headers: { 'if-none-match': byId('live').dataset.revision },
        cache: 'no-store',
        signal: AbortSignal.timeout(5_000),
      })
      if (reply.status === 200) show(await reply.text())
      if (state.classList.contains('lost')) state.innerHTML = stateText
      state.classList.remove('lost')
    } catch {
      if (!state.classList.contains('lost'))
        state.textContent = 'This server does not answer. Below is what it said last; the page tries again by itself.'
      state.classList.add('lost')
    }
  }

  const stayLive = async () => {
    for (;;) {
      await new Promise((resolve) => setTimeout(resolve, 2_000))
      await refresh()
      tellTimes()
    }
  }

  makeCopyable()
  void stayLive()
}
