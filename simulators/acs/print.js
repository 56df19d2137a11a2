// Looks at the browser, tells the bank, and posts back who asked. It waits for its own bank a
// second at the most.
{
  const [form] = document.forms
  const size = `${screen.width}x${screen.height}`
  const print = [navigator.userAgent, navigator.language, size, screen.colorDepth, new Date().getTimezoneOffset()]
  const back = () => form.submit()
  const body = new URLSearchParams({ id: form.dataset.id, print: print.join(' | ') })
  fetch('/method/print', { method: 'POST', body, signal: AbortSignal.timeout(1_000) }).then(back, back)
}
