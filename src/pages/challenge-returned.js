// Inside the frame: reports only to the gateway's page around it that the browser came
// back; by itself where that brought a result. The page carries no data but the token of its
// address.
{
  const { origin, token, own } = document.getElementById('challenge-returned').dataset
  const around = location.ancestorOrigins
  // A page of the merchant has no listener, and browsers would complain of a message without one.
  const ours = !around || around[0] === origin
  const report = () => window.parent.postMessage({ type: 'three-d-secure challenge returned', token }, origin)
  const isHeard = window.parent !== window && ours
  if (isHeard && own === 'true') report()
  // The sandbox of our frame stops the link.
  else if (isHeard)
    document.querySelector('a').addEventListener('click', (press) => {
      press.preventDefault()
      report()
    })
}
